package handshake

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// Identity is what a node says of itself.
type Identity struct {
	Name     string // "nxvk@host"
	Flags    uint64 // its capabilities, Flag…
	Creation uint32 // which run of the node it is
}

// Side is this node's side of all its handshakes.
type Side struct {
	Self   Identity
	Cookie string
	// Open are the challenges of all handshakes under way. Without it each
	// handshake is for itself, and nothing is known of reflections.
	Open *Challenges
}

// Statuses, the answers to a name.
const (
	StatusOK           = "ok"
	StatusSimultaneous = "ok_simultaneous"
	StatusNok          = "nok"
	StatusNotAllowed   = "not_allowed"
	StatusAlive        = "alive"
	StatusTrue         = "true"
)

// Accept does the handshake with a peer that has dialled. decide answers the name that
// the peer gives with a status. It changes nothing, since the peer has proven nothing
// yet. admit is called once the peer has proven that it knows the cookie, and before it
// is told that it is connected. Its status is decide's; after StatusAlive the peer has
// insisted on a connection of its own. The Identity is valid beside an error too, as far
// as the peer has told it.
func (h Side) Accept(c net.Conn, decide func(peer string) (status string), admit func(peer Identity, status string) error) (Identity, error) {
	peer, old, err := h.receiveName(c)
	if err != nil {
		return peer, err
	}
	status := decide(peer.Name)
	if err := writePacket(c, append([]byte{'s'}, status...)); err != nil {
		return peer, err
	}
	switch status {
	case StatusOK, StatusSimultaneous:
	case StatusAlive:
		answer, err := readStatus(c)
		if err != nil {
			return peer, err
		}
		if answer != StatusTrue {
			return peer, fmt.Errorf("%w: connected already", ErrRefused)
		}
	case StatusNok:
		return peer, ErrSimultaneous
	default:
		return peer, fmt.Errorf("%w: we answer %s", ErrRefused, status)
	}
	challenge, done := h.Open.issue()
	defer done()
	if err := writePacket(c, appendChallenge(nil, h.Self, challenge)); err != nil {
		return peer, err
	}
	if old {
		if err := readComplement(c, &peer); err != nil {
			return peer, err
		}
	}
	if err := checkFlags(peer.Flags); err != nil {
		return peer, err
	}
	p, err := readPacket(c)
	if err != nil {
		return peer, fmt.Errorf("read challenge reply: %w", err)
	}
	theirs, digest, err := parseReply(p)
	if err != nil {
		return peer, err
	}
	if err := h.check(digest, challenge); err != nil {
		return peer, err
	}
	if h.Open.has(theirs) {
		return peer, ErrReflection
	}
	if err := admit(peer, status); err != nil {
		return peer, err
	}
	ack := h.digest(theirs)
	return peer, writePacket(c, append([]byte{'a'}, ack[:]...))
}

// receiveName reads the name of the peer. A peer that does not know yet that we speak
// version 6 of the handshake sends the name of version 5, and completes it after the
// challenge.
func (h Side) receiveName(c net.Conn) (peer Identity, old bool, err error) {
	p, err := readPacket(c)
	if err != nil {
		return peer, false, fmt.Errorf("read name: %w", err)
	}
	if peer, old, err = parseName(p); err != nil {
		return peer, old, err
	}
	if old && peer.Flags&FlagHandshake23 == 0 {
		return peer, old, fmt.Errorf("%w: version 6 of the handshake", ErrFlags)
	}
	if !old {
		err = checkFlags(peer.Flags)
	}
	return peer, old, err
}

// Start does the handshake with the node called name, which was dialled.
func (h Side) Start(c net.Conn, name string) (Identity, error) {
	var peer Identity
	if err := writePacket(c, appendName(nil, h.Self)); err != nil {
		return peer, err
	}
	status, err := readStatus(c)
	if err != nil {
		return peer, err
	}
	switch status {
	case StatusOK, StatusSimultaneous:
	case StatusAlive:
		// The peer holds a connection that we have lost or never finished.
		if err := writePacket(c, []byte("s"+StatusTrue)); err != nil {
			return peer, err
		}
	case StatusNok:
		return peer, ErrSimultaneous
	default:
		return peer, fmt.Errorf("%w: it answers %.40q", ErrRefused, status)
	}
	p, err := readPacket(c)
	if err != nil {
		return peer, fmt.Errorf("read challenge: %w", err)
	}
	peer, theirs, err := parseChallenge(p)
	if err != nil {
		return peer, err
	}
	if peer.Name != name {
		return peer, fmt.Errorf("%w: %s introduced itself as %.40q", ErrMalformed, name, peer.Name)
	}
	if err := checkFlags(peer.Flags); err != nil {
		return peer, err
	}
	return peer, h.prove(c, theirs)
}

// prove answers the peer's challenge and checks its answer to ours. A peer with another
// cookie closes the connection without a word.
func (h Side) prove(c net.Conn, theirs uint32) error {
	if h.Open.has(theirs) {
		return ErrReflection
	}
	challenge, done := h.Open.issue()
	defer done()
	digest := h.digest(theirs)
	reply := binary.BigEndian.AppendUint32([]byte{'r'}, challenge)
	if err := writePacket(c, append(reply, digest[:]...)); err != nil {
		return err
	}
	p, err := readPacket(c)
	if err != nil {
		return fmt.Errorf("%w, or the peer went away: %w", ErrCookie, err)
	}
	if len(p) != 17 || p[0] != 'a' {
		return fmt.Errorf("%w: challenge acknowledgement", ErrMalformed)
	}
	return h.check([16]byte(p[1:]), challenge)
}

// digest is the answer to a challenge: MD5 of the cookie and the challenge's
// decimal digits.
func (h Side) digest(challenge uint32) [16]byte {
	return md5.Sum(strconv.AppendUint([]byte(h.Cookie), uint64(challenge), 10))
}

func (h Side) verify(digest [16]byte, challenge uint32) bool {
	want := h.digest(challenge)
	return subtle.ConstantTimeCompare(digest[:], want[:]) == 1
}

// check checks the answer to a challenge. An answer to another challenge of ours was
// made for somebody else, by a node that has the cookie, perhaps this one.
func (h Side) check(digest [16]byte, challenge uint32) error {
	if h.verify(digest, challenge) {
		return nil
	}
	for _, other := range h.Open.all() {
		if h.verify(digest, other) {
			return ErrReflection
		}
	}
	return ErrCookie
}

func newChallenge() uint32 {
	var p [4]byte
	rand.Read(p[:]) // never fails
	return binary.BigEndian.Uint32(p[:])
}

func checkFlags(flags uint64) error {
	if flags&FlagMandatory25Digest != 0 {
		flags |= FlagsMandatory25
	}
	if missing := FlagsMandatory &^ flags; missing != 0 {
		return fmt.Errorf("%w: flags %#x", ErrFlags, missing)
	}
	return nil
}
