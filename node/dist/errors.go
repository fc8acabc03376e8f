package dist

import "errors"

// Of the handshake.
var (
	// ErrCookie says that the peer does not know our cookie, or we not its.
	ErrCookie = errors.New("cookies differ")
	// ErrHandshake says that the peer does not follow the protocol.
	ErrHandshake = errors.New("malformed handshake")
	// ErrFlags says that the peer lacks a capability we cannot do without.
	ErrFlags = errors.New("peer lacks a mandatory capability")
	// ErrRefused says that the peer declined the connection.
	ErrRefused = errors.New("peer refused the connection")
	// ErrSimultaneous says that the other side's attempt goes first.
	ErrSimultaneous = errors.New("simultaneous connection attempt")
	// ErrReflection says that the peer answers a challenge of ours, or poses it
	// to us, that another connection was given: it has us prove what it cannot.
	ErrReflection = errors.New("peer reflects a challenge of ours")
	// ErrDescriptors says that this process has no descriptors left for a
	// connection. A higher ulimit -n gives it more.
	ErrDescriptors = errors.New("too few file descriptors left")
	// ErrTLS says that no encrypted connection could be agreed on.
	ErrTLS = errors.New("TLS handshake")
)

// Of a connection.
var (
	// ErrMalformed says that a packet is no distribution message.
	ErrMalformed = errors.New("malformed packet")
	// ErrTooLarge says that a message's terms exceed Options.MaxTerm.
	ErrTooLarge = errors.New("message too large")
	// ErrBusy says that the peer does not read and the queue to it is full.
	ErrBusy = errors.New("peer is too slow")
	// ErrSlow says that the peer reads nothing while replies to it gather, so
	// that it is cut off.
	ErrSlow = errors.New("peer does not read what it asked for")
	// ErrOverLimit says that the peer would have this node hold more than
	// Options.MaxHeld, or than Options.Budget has left.
	ErrOverLimit = errors.New("too little memory for what the peer sends")
	// ErrSender says that a peer speaks in the name of another node's process.
	ErrSender = errors.New("sender is not of the peer's node")
	// ErrTick says that nothing came from the peer for the net tick time.
	ErrTick = errors.New("peer is silent")
	// ErrClosed says that the connection or the node is closed.
	ErrClosed = errors.New("connection closed")
	// ErrReplaced says that the peer has opened a newer connection.
	ErrReplaced = errors.New("connection replaced")
)
