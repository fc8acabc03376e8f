package dist

import (
	"errors"

	"nxvk/node/dist/packet"
	"nxvk/node/dist/quota"
)

// Of messages.
var (
	// ErrBusy says that the peer does not read and the queue to it is full.
	ErrBusy = packet.ErrBusy
	// ErrTooLarge says that a message's terms exceed Options.MaxTerm.
	ErrTooLarge = packet.ErrTooLarge
	// ErrOverLimit says that the peer would have this node hold more than
	// Options.MaxHeld, or than Options.Budget has left.
	ErrOverLimit = quota.ErrOverLimit
)

// Of a connection.
var (
	// ErrClosed says that the connection or the node is closed.
	ErrClosed = packet.ErrClosed
	// ErrTick says that nothing came from the peer for the net tick time.
	ErrTick = errors.New("peer is silent")
	// ErrReplaced says that the peer has opened a newer connection.
	ErrReplaced = errors.New("connection replaced")
)
