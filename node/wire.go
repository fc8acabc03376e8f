package node

import (
	"cmp"
	"slices"

	"ergo.services/ergo/gen"
	"github.com/prometheus/client_golang/prometheus"

	"nxvk/gen/server"
	"nxvk/node/dist"
)

// maxConnections bounds the connections that have series of their own: those that
// hold most. The others are one series together.
const maxConnections = 100

// wire collects the numbers of the distribution.
type wire struct{ node wireNode }

// wireNode is what a wire needs of a dist.Node.
type wireNode interface {
	Counters() *dist.Counters
	Counts() dist.Counts
	Connections() []dist.ConnectionStats
}

// wireCounters are the numbers of all connections together.
var wireCounters = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	count func(*dist.Counters) float64
}{
	{wireDesc("connections", "Connected nodes."), prometheus.GaugeValue,
		func(c *dist.Counters) float64 { return float64(c.Connections.Load()) }},
	{wireDesc("wire_received_bytes_total", "Bytes received from nodes."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.BytesIn.Load()) }},
	{wireDesc("wire_sent_bytes_total", "Bytes sent to nodes."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.BytesOut.Load()) }},
	{wireDesc("wire_received_messages_total", "Messages received from nodes."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.MessagesIn.Load()) }},
	{wireDesc("wire_sent_messages_total", "Messages sent to nodes."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.MessagesOut.Load()) }},
	{wireDesc("sockets_accepted_total", "Sockets that were accepted."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Accepted.Load()) }},
	{wireDesc("handshakes_refused_total", "Handshakes refused because of the cookie."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Refused.Load()) }},
	{wireDesc("handshakes_failed_total", "Handshakes that failed otherwise."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Failed.Load()) }},
	{wireDesc("malformed_total", "Connections closed because of what they sent."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Malformed.Load()) }},
}

// wireReasons are counters by reason.
var wireReasons = []struct {
	desc   *prometheus.Desc
	counts func(*dist.Counts) map[string]uint64
}{
	{wireDesc("handshake_failures_total", "Handshakes that failed.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Handshakes }},
	{wireDesc("connections_ended_total", "Connections that this node ended: slow are those of readers that were cut off.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Ended }},
	{wireDesc("messages_refused_total", "Messages that nobody got.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Refused }},
}

// wireGauges are the numbers of each connection.
var wireGauges = []struct {
	desc  *prometheus.Desc
	value func(*dist.ConnectionStats) int64
}{
	{wireDesc("connection_assembly_bytes", "Bytes of messages that are arriving in pieces, large binaries apart.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Assembly }},
	{wireDesc("connection_decoded_bytes", "Bytes of decoded messages that have not been handled.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Decoding }},
	{wireDesc("connection_signal_bytes", "Bytes for monitors and links of the peer.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Signals }},
	{wireDesc("connection_queued_bytes", "Bytes of replies and messages that wait for the peer to read, large binaries included.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Waiting }},
}

func wireDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nxvk_"+name, help, labels, nil)
}

// Describe is that of prometheus.Collector.
func (w wire) Describe(out chan<- *prometheus.Desc) {
	for _, x := range wireCounters {
		out <- x.desc
	}
	for _, x := range wireReasons {
		out <- x.desc
	}
	for _, x := range wireGauges {
		out <- x.desc
	}
}

// Collect is that of prometheus.Collector.
func (w wire) Collect(out chan<- prometheus.Metric) {
	for _, x := range wireCounters {
		out <- prometheus.MustNewConstMetric(x.desc, x.kind, x.count(w.node.Counters()))
	}
	counts := w.node.Counts()
	for _, x := range wireReasons {
		for reason, n := range x.counts(&counts) {
			out <- prometheus.MustNewConstMetric(x.desc, prometheus.CounterValue, float64(n), reason)
		}
	}
	for _, c := range largest(w.node.Connections()) {
		for _, x := range wireGauges {
			out <- prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, float64(x.value(&c)), string(c.Peer))
		}
	}
}

// largest are the connections that hold most, and the sum of the others as the peer
// other.
func largest(all []dist.ConnectionStats) []dist.ConnectionStats {
	slices.SortStableFunc(all, func(a, b dist.ConnectionStats) int { return cmp.Compare(held(&b), held(&a)) })
	other := dist.ConnectionStats{Peer: "other"}
	for i := range all {
		c := &all[i]
		if i < maxConnections {
			c.Peer = gen.Atom(server.Printable(string(c.Peer)))
			continue
		}
		other.Assembly, other.Decoding = other.Assembly+c.Assembly, other.Decoding+c.Decoding
		other.Signals, other.Waiting = other.Signals+c.Signals, other.Waiting+c.Waiting
	}
	if len(all) <= maxConnections {
		return all
	}
	return append(all[:maxConnections], other)
}

func held(c *dist.ConnectionStats) int64 { return c.Assembly + c.Decoding + c.Signals + c.Waiting }
