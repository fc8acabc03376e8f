package handshake

import "errors"

var (
	// ErrCookie says that the peer does not know our cookie, or we not its.
	ErrCookie = errors.New("cookies differ")
	// ErrMalformed says that the peer does not follow the protocol.
	ErrMalformed = errors.New("malformed handshake")
	// ErrFlags says that the peer lacks a capability we cannot do without.
	ErrFlags = errors.New("peer lacks a mandatory capability")
	// ErrRefused says that a side declined the connection.
	ErrRefused = errors.New("connection refused")
	// ErrSimultaneous says that the other side's attempt goes first.
	ErrSimultaneous = errors.New("simultaneous connection attempt")
	// ErrReflection says that the peer answers a challenge of ours, or poses it
	// to us, that another connection was given: it has us prove what it cannot.
	ErrReflection = errors.New("peer reflects a challenge of ours")
)
