package dist

import "sync/atomic"

// Counters count what happens on a Node's connections.
type Counters struct {
	Accepted    atomic.Uint64 // sockets that were accepted
	Connections atomic.Int64  // connections that are up
	Refused     atomic.Uint64 // handshakes refused because of the cookie
	Failed      atomic.Uint64 // handshakes that failed otherwise
	Malformed   atomic.Uint64 // connections closed because of what they sent
	Silent      atomic.Uint64 // connections closed because they sent nothing
	BytesIn     atomic.Uint64
	BytesOut    atomic.Uint64
	MessagesIn  atomic.Uint64
	MessagesOut atomic.Uint64
	Dropped     atomic.Uint64 // messages to processes that do not exist
	Lost        atomic.Uint64 // large binaries that the allocator refused
}
