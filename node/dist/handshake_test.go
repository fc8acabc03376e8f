package dist

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
)

func pair(cookies ...string) (ours, theirs handshake) {
	ours = handshake{self: identity{name: "ours@h", flags: flagsOffered, creation: 10}, cookie: cookies[0]}
	theirs = handshake{self: identity{name: "theirs@h", flags: flagsOffered, creation: 20}, cookie: cookies[len(cookies)-1]}
	return ours, theirs
}

// meet runs both halves of the handshake against each other.
func meet(ours, theirs handshake, status string, replaced error) (accepted, started identity, errAccept, errStart error) {
	a, b := net.Pipe()
	done := make(chan bool)
	go func() {
		defer close(done)
		accepted, errAccept = ours.accept(a, func(string) string { return status }, func(identity, string) error { return replaced })
		a.Close()
	}()
	started, errStart = theirs.start(b, "ours@h")
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
		{"plain", "c", statusOK, nil, nil, nil},
		{"our attempt is given up", "c", statusSimultaneous, nil, nil, nil},
		{"theirs is", "c", statusNok, nil, ErrSimultaneous, ErrSimultaneous},
		{"a lost connection is replaced", "c", statusAlive, nil, nil, nil},
		{"or not", "c", statusAlive, refusal, refusal, net.ErrClosed},
		{"not allowed", "c", statusNotAllowed, nil, ErrRefused, ErrRefused},
		{"wrong cookie", "other", statusOK, nil, ErrCookie, ErrCookie},
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
			if tt.wantAccept == nil && (accepted != theirs.self || started != ours.self) {
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
		id  identity
		err error
	}
	done := make(chan result)
	go func() {
		id, err := ours.accept(a, func(string) string { return statusOK }, func(identity, string) error { return nil })
		done <- result{id, err}
	}()
	low := binary.BigEndian.AppendUint32([]byte{'n', 0, 5}, uint32(theirs.self.flags))
	writePacket(b, append(low, theirs.self.name...))
	if status, err := readStatus(b); status != statusOK {
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
	high := binary.BigEndian.AppendUint32([]byte{'c'}, uint32(theirs.self.flags>>32))
	writePacket(b, binary.BigEndian.AppendUint32(high, theirs.self.creation))
	if err := theirs.prove(b, challenge); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || got.id != theirs.self {
		t.Fatalf("got %+v, want %+v (%v)", got.id, theirs.self, got.err)
	}
}

func TestMandatoryFlags(t *testing.T) {
	for bit := range 40 {
		flag := uint64(1) << bit
		err := checkFlags(flagsMandatory &^ flag)
		if want := flagsMandatory&flag != 0; errors.Is(err, ErrFlags) != want {
			t.Errorf("without flag %#x: %v", flag, err)
		}
	}
	if err := checkFlags(flagMandatory25Digest | flagUnlinkID | flagV4NC); err != nil {
		t.Errorf("the digest does not stand for its flags: %v", err)
	}
}

func TestNodeNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a@b": true, "nxvk@gpu.example.org": true, "ø@h": true,
		"": false, "a": false, "@h": false, "a@": false, "a@b@c": false, "a\xff@h": false,
		"a\x1b[2J@h": false, "a@h\n": false,
	} {
		if err := checkNodeName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestReflection has a peer that does not know the cookie pose a challenge that it was
// given on another connection, and then answer with what it learned.
func TestReflection(t *testing.T) {
	ours, _ := pair("c")
	ours.ours = &challenges{}
	posed, done := ours.ours.issue()
	defer done()
	other, done := ours.ours.issue()
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
	if ours.ours.has(other) {
		t.Error("a challenge of a handshake that is over is kept")
	}
}
