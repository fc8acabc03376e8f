package dist

import (
	"cmp"
	"slices"
	"sync/atomic"

	"ergo.services/ergo/gen"

	"nxvk/node/dist/quota"
)

// Counters count what happens on a Node's connections.
type Counters struct {
	Accepted    atomic.Uint64 // sockets that were accepted
	Connections atomic.Int64  // connections that are up
	Refused     atomic.Uint64 // handshakes refused because of the cookie
	Failed      atomic.Uint64 // handshakes that failed otherwise
	Malformed   atomic.Uint64 // connections closed because their peer broke the protocol
	Silent      atomic.Uint64 // connections closed because they sent nothing
	Slow        atomic.Uint64 // connections closed because they did not read
	Exhausted   atomic.Uint64 // connections closed because of the memory they took
	BytesIn     atomic.Uint64
	BytesOut    atomic.Uint64
	MessagesIn  atomic.Uint64
	MessagesOut atomic.Uint64
	Dropped     atomic.Uint64 // messages to processes that do not exist
	Lost        atomic.Uint64 // large binaries that the allocator refused

	handshakes [len(handshakeReasons)]atomic.Uint64 // failed ones
	refusals   [len(refusalReasons)]atomic.Uint64   // messages
}

// Counts is a reading of a Node's counters by reason. Each map has all reasons that
// there are, also those that did not occur.
type Counts struct {
	// Handshakes counts those that failed: "cookie", "malformed", "flags",
	// "reflection", "refused", "timeout", "tls", "descriptors", "silent" of those
	// who said nothing, and "other".
	Handshakes map[string]uint64
	// Ended counts the connections that this node ended: "malformed", "silent",
	// "slow" and "memory".
	Ended map[string]uint64
	// Refused counts messages that nobody got: "no_process", "sender" of those in
	// another node's name, "limit" of those whose terms had no room, and "allocator"
	// of large binaries without memory.
	Refused map[string]uint64
}

// ConnectionStats is what one connection holds.
type ConnectionStats struct {
	Peer     gen.Atom
	Assembly int64 // bytes of messages that are arriving in pieces, large binaries apart
	Decoding int64 // bytes of decoded messages that have not been handled
	Queued   int64 // bytes that wait for the peer to read, large binaries apart
	Signals  int64 // bytes for monitors and links of the peer
	Waiting  int64 // bytes that wait for the peer to read, large binaries included
}

// Counts reads the counters.
func (n *Node) Counts() Counts {
	c := &n.counters
	counts := Counts{
		Handshakes: make(map[string]uint64, len(handshakeReasons)),
		Refused:    make(map[string]uint64, len(refusalReasons)),
		Ended: map[string]uint64{
			"malformed": c.Malformed.Load(), "silent": c.Silent.Load(),
			"slow": c.Slow.Load(), "memory": c.Exhausted.Load(),
		},
	}
	for i, reason := range handshakeReasons {
		counts.Handshakes[reason.name] = c.handshakes[i].Load()
	}
	for i, reason := range refusalReasons {
		counts.Refused[reason] = c.refusals[i].Load()
	}
	counts.Refused["no_process"] = c.Dropped.Load()
	counts.Refused["allocator"] = c.Lost.Load()
	return counts
}

// Connections returns what each connection holds, in the order of the peers' names.
func (n *Node) Connections() []ConnectionStats {
	var all []ConnectionStats
	for _, c := range n.connections() {
		all = append(all, ConnectionStats{
			Peer:     c.name,
			Assembly: c.account.UsedFor(quota.Assembly),
			Decoding: c.account.UsedFor(quota.Terms),
			Queued:   c.account.UsedFor(quota.Queue),
			Signals:  c.account.UsedFor(quota.Signals),
			Waiting:  c.writer.Waiting(),
		})
	}
	slices.SortFunc(all, func(a, b ConnectionStats) int { return cmp.Compare(a.Peer, b.Peer) })
	return all
}
