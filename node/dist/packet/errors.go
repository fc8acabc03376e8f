package packet

import "errors"

var (
	// ErrMalformed says that a packet is no distribution message.
	ErrMalformed = errors.New("malformed packet")
	// ErrTooLarge says that a message's terms exceed Reader.MaxTerm.
	ErrTooLarge = errors.New("message too large")
	// ErrBusy says that the peer does not read and the queue to it is full.
	ErrBusy = errors.New("peer is too slow")
	// ErrSlow says that the peer reads nothing while replies to it gather, so
	// that it is to be cut off.
	ErrSlow = errors.New("peer does not read what it asked for")
	// ErrClosed says that the connection is closed.
	ErrClosed = errors.New("connection closed")
)
