package handshake

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
)

func pair(cookies ...string) (ours, theirs Side) {
	ours = Side{Self: Identity{Name: "ours@h", Flags: FlagsOffered, Creation: 10}, Cookie: cookies[0]}
	theirs = Side{Self: Identity{Name: "theirs@h", Flags: FlagsOffered, Creation: 20}, Cookie: cookies[len(cookies)-1]}
	return ours, theirs
}

// meet runs both halves of the handshake against each other.
func meet(ours, theirs Side, status string, replaced error) (accepted, started Identity, errAccept, errStart error) {
	a, b := net.Pipe()
	done := make(chan bool)
	go func() {
		defer close(done)
		accepted, errAccept = ours.Accept(a, func(string) string { return status }, func(Identity, string) error { return replaced })
		a.Close()
	}()
	started, errStart = theirs.Start(b, "ours@h")
	b.Close()
	<-done
	return accepted, started, errAccept, errStart
}

func TestHandshake(t *testing.T) {
	refusal := errors.New("cannot replace")
	tests := []struct {
		name                  string
		cookie, status        string
		replaced              error
		wantAccept, wantStart error
	}{
		{"plain", "c", StatusOK, nil, nil, nil},
		{"our attempt is given up", "c", StatusSimultaneous, nil, nil, nil},
		{"theirs is", "c", StatusNok, nil, ErrSimultaneous, ErrSimultaneous},
		{"a lost connection is replaced", "c", StatusAlive, nil, nil, nil},
		{"or not", "c", StatusAlive, refusal, refusal, net.ErrClosed},
		{"not allowed", "c", StatusNotAllowed, nil, ErrRefused, ErrRefused},
		{"wrong cookie", "other", StatusOK, nil, ErrCookie, ErrCookie},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs := pair("c", tt.cookie)
			accepted, started, errAccept, errStart := meet(ours, theirs, tt.status, tt.replaced)
			if !errors.Is(errAccept, tt.wantAccept) {
				t.Errorf("accept: got %v, want %v", errAccept, tt.wantAccept)
			}
			if (errStart == nil) != (tt.wantStart == nil) {
				t.Errorf("start: got %v, want %v", errStart, tt.wantStart)
			}
			if tt.wantAccept == nil && (accepted != theirs.Self || started != ours.Self) {
				t.Errorf("got %+v and %+v", accepted, started)
			}
		})
	}
}

// TestOldName introduces itself as version 5 does until it knows better.
func TestOldName(t *testing.T) {
	ours, theirs := pair("c")
	a, b := net.Pipe()
	type result struct {
		id  Identity
		err error
	}
	done := make(chan result)
	go func() {
		id, err := ours.Accept(a, func(string) string { return StatusOK }, func(Identity, string) error { return nil })
		done <- result{id, err}
	}()
	low := binary.BigEndian.AppendUint32([]byte{'n', 0, 5}, uint32(theirs.Self.Flags))
	writePacket(b, append(low, theirs.Self.Name...))
	if status, err := readStatus(b); status != StatusOK {
		t.Fatal(status, err)
	}
	p, err := readPacket(b)
	if err != nil {
		t.Fatal(err)
	}
	_, challenge, err := parseChallenge(p)
	if err != nil {
		t.Fatal(err)
	}
	high := binary.BigEndian.AppendUint32([]byte{'c'}, uint32(theirs.Self.Flags>>32))
	writePacket(b, binary.BigEndian.AppendUint32(high, theirs.Self.Creation))
	if err := theirs.prove(b, challenge); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || got.id != theirs.Self {
		t.Fatalf("got %+v, want %+v (%v)", got.id, theirs.Self, got.err)
	}
}

func TestMandatoryFlags(t *testing.T) {
	for bit := range 40 {
		flag := uint64(1) << bit
		err := checkFlags(FlagsMandatory &^ flag)
		if want := FlagsMandatory&flag != 0; errors.Is(err, ErrFlags) != want {
			t.Errorf("without flag %#x: %v", flag, err)
		}
	}
	if err := checkFlags(FlagMandatory25Digest | FlagUnlinkID | FlagV4NC); err != nil {
		t.Errorf("the digest does not stand for its flags: %v", err)
	}
}

func TestNodeNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a@b": true, "nxvk@gpu.example.org": true, "ø@h": true,
		"": false, "a": false, "@h": false, "a@": false, "a@b@c": false, "a\xff@h": false,
		"a\x1b[2J@h": false, "a@h\n": false,
	} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestReflection has a peer that does not know the cookie pose a challenge that it was
// given on another connection, and then answer with what it learned.
func TestReflection(t *testing.T) {
	ours, _ := pair("c")
	ours.Open = &Challenges{}
	posed, done := ours.Open.issue()
	defer done()
	other, done := ours.Open.issue()
	defer done()

	a, b := net.Pipe()
	defer b.Close()
	if err := ours.prove(a, posed); !errors.Is(err, ErrReflection) {
		t.Errorf("a challenge of ours is answered: %v", err)
	}
	if err := ours.check(ours.digest(other), posed); !errors.Is(err, ErrReflection) {
		t.Errorf("an answer to another challenge: %v", err)
	}
	if err := ours.check(ours.digest(posed), posed); err != nil {
		t.Errorf("the answer: %v", err)
	}
	if err := ours.check(ours.digest(posed+1), posed); !errors.Is(err, ErrCookie) {
		t.Errorf("a wrong answer: %v", err)
	}
	done()
	if ours.Open.has(other) {
		t.Error("a challenge of a handshake that is over is kept")
	}
}

func FuzzHandshake(f *testing.F) {
	id := Identity{Name: "a@b", Flags: FlagsOffered, Creation: 1}
	f.Add(appendName(nil, id))
	f.Add(appendChallenge(nil, id, 7))
	f.Add([]byte("n\x00\x05\x00\x00\x00\x00a@b"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if got, old, err := parseName(p); err == nil && !old {
			if again, _, err := parseName(appendName(nil, got)); err != nil || again != got {
				t.Fatalf("%+v becomes %+v (%v)", got, again, err)
			}
		}
		parseChallenge(p)
		parseReply(p)
	})
}
