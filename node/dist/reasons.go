package dist

import (
	"errors"
	"io"
	"net"
	"os"
)

// handshakeReasons are why handshakes fail, as they are counted. The first one
// that an error is counts; what is none of them is the last.
var handshakeReasons = [...]struct {
	name string
	err  error
}{
	{"cookie", ErrCookie},
	{"reflection", ErrReflection},
	{"flags", ErrFlags},
	{"refused", ErrRefused},
	{"descriptors", ErrDescriptors},
	{"malformed", ErrHandshake},
	{"timeout", os.ErrDeadlineExceeded},
	{"displaced", net.ErrClosed},
	{"tls", ErrTLS},
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
