package dist

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// identity is one side of a handshake.
type identity struct {
	name     string
	flags    uint64
	creation uint32
}

// handshake is what both directions need: who we are and the shared secret.
type handshake struct {
	self   identity
	cookie string
	ours   *challenges // of all handshakes under way
}

// Statuses of the handshake.
const (
	statusOK           = "ok"
	statusSimultaneous = "ok_simultaneous"
	statusNok          = "nok"
	statusNotAllowed   = "not_allowed"
	statusAlive        = "alive"
	statusTrue         = "true"
)

// accept is the side that was dialled. decide answers with a status for the name
// that the peer gives, and changes nothing: the peer has proven nothing yet. admit is
// called when it has, before the peer is told that it is connected; status is what it was answered,
// and statusAlive that it insisted.
func (h handshake) accept(c net.Conn, decide func(peer string) string, admit func(peer identity, status string) error) (identity, error) {
	peer, old, err := h.receiveName(c)
	if err != nil {
		return peer, err
	}
	status := decide(peer.name)
	if err := writePacket(c, append([]byte{'s'}, status...)); err != nil {
		return peer, err
	}
	switch status {
	case statusOK, statusSimultaneous:
	case statusAlive:
		answer, err := readStatus(c)
		if err != nil {
			return peer, err
		}
		if answer != statusTrue {
			return peer, fmt.Errorf("%w: connected already", ErrRefused)
		}
	case statusNok:
		return peer, ErrSimultaneous
	default:
		return peer, fmt.Errorf("%w: we answer %s", ErrRefused, status)
	}
	challenge, done := h.ours.issue()
	defer done()
	if err := writePacket(c, appendChallenge(nil, h.self, challenge)); err != nil {
		return peer, err
	}
	if old {
		if err := readComplement(c, &peer); err != nil {
			return peer, err
		}
	}
	if err := checkFlags(peer.flags); err != nil {
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
	if h.ours.has(theirs) {
		return peer, ErrReflection
	}
	if err := admit(peer, status); err != nil {
		return peer, err
	}
	ack := h.digest(theirs)
	return peer, writePacket(c, append([]byte{'a'}, ack[:]...))
}

// receiveName reads who calls. A caller that does not know yet that we speak
// version 6 sends the old form and completes it after the challenge.
func (h handshake) receiveName(c net.Conn) (peer identity, old bool, err error) {
	p, err := readPacket(c)
	if err != nil {
		return peer, false, fmt.Errorf("read name: %w", err)
	}
	if peer, old, err = parseName(p); err != nil {
		return peer, old, err
	}
	if old && peer.flags&flagHandshake23 == 0 {
		return peer, old, fmt.Errorf("%w: handshake version 6", ErrFlags)
	}
	if !old {
		err = checkFlags(peer.flags)
	}
	return peer, old, err
}

// start is the side that dials the node called name.
func (h handshake) start(c net.Conn, name string) (identity, error) {
	var peer identity
	if err := writePacket(c, appendName(nil, h.self)); err != nil {
		return peer, err
	}
	status, err := readStatus(c)
	if err != nil {
		return peer, err
	}
	switch status {
	case statusOK, statusSimultaneous:
	case statusAlive:
		// The peer holds a connection that we have lost or never finished.
		if err := writePacket(c, []byte("s"+statusTrue)); err != nil {
			return peer, err
		}
	case statusNok:
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
	if peer.name != name {
		return peer, fmt.Errorf("%w: %s introduced itself as %.40q", ErrHandshake, name, peer.name)
	}
	if err := checkFlags(peer.flags); err != nil {
		return peer, err
	}
	return peer, h.prove(c, theirs)
}

// prove answers the peer's challenge and checks its answer to ours. A peer
// that dislikes our cookie just closes.
func (h handshake) prove(c net.Conn, theirs uint32) error {
	if h.ours.has(theirs) {
		return ErrReflection
	}
	challenge, done := h.ours.issue()
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
		return fmt.Errorf("%w: challenge acknowledgement", ErrHandshake)
	}
	return h.check([16]byte(p[1:]), challenge)
}

// digest is the answer to a challenge: MD5 of the cookie and the challenge's
// decimal digits.
func (h handshake) digest(challenge uint32) [16]byte {
	return md5.Sum(strconv.AppendUint([]byte(h.cookie), uint64(challenge), 10))
}

func (h handshake) verify(digest [16]byte, challenge uint32) bool {
	want := h.digest(challenge)
	return subtle.ConstantTimeCompare(digest[:], want[:]) == 1
}

// check says what is wrong with the answer to a challenge. One that answers another
// challenge of ours was made by a node that has the cookie, this one perhaps, for
// somebody else.
func (h handshake) check(digest [16]byte, challenge uint32) error {
	if h.verify(digest, challenge) {
		return nil
	}
	for _, other := range h.ours.all() {
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
	if flags&flagMandatory25Digest != 0 {
		flags |= flagsMandatory25
	}
	if missing := flagsMandatory &^ flags; missing != 0 {
		return fmt.Errorf("%w: flags %#x", ErrFlags, missing)
	}
	return nil
}
