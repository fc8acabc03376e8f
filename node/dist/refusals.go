package dist

import (
	"errors"
	"io"
	"net"
	"os"

	"nxvk/node/dist/handshake"
	"nxvk/node/dist/socket"
)

// handshakeReasons are the reasons by which failed handshakes are counted. The first one
// that an error matches counts, or else the last.
var handshakeReasons = [...]struct {
	name string
	err  error
}{
	{"cookie", handshake.ErrCookie},
	{"reflection", handshake.ErrReflection},
	{"flags", handshake.ErrFlags},
	{"refused", handshake.ErrRefused},
	{"descriptors", socket.ErrDescriptors},
	{"malformed", handshake.ErrMalformed},
	{"timeout", os.ErrDeadlineExceeded},
	{"displaced", net.ErrClosed},
	{"tls", socket.ErrTLS},
	{"silent", io.EOF},
	{"other", nil},
}

// handshakeReason returns the index of an error's reason.
func handshakeReason(err error) int {
	last := len(handshakeReasons) - 1
	for i, reason := range handshakeReasons[:last] {
		if errors.Is(err, reason.err) {
			return i
		}
	}
	return last
}

// refusal is why a message that was received properly is not delivered.
type refusal int

const (
	refusalSender refusal = iota // it is in the name of another node's process
	refusalLimit                 // there is no room for it
)

var refusalReasons = [...]string{refusalSender: "sender", refusalLimit: "limit"}
