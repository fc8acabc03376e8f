package node

import (
	"cmp"
	"slices"

	"ergo.services/ergo/gen"
	"github.com/prometheus/client_golang/prometheus"

	"nxvk/gen/server/report"
	"nxvk/node/dist"
)

// maxConnections is the number of connections with series of their own: those that hold most
// memory. The others are summed in one series.
const maxConnections = 100

// wireCollector collects the metrics of the distribution.
type wireCollector struct{ node wireNode }

// wireNode is the part of dist.Node that the collector reads.
type wireNode interface {
	Counters() *dist.Counters
	Counts() dist.Counts
	Connections() []dist.ConnectionStats
}

// wireCounters are the metrics of all connections together.
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
	{wireDesc("sockets_accepted_total", "Accepted sockets."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Accepted.Load()) }},
	{wireDesc("handshakes_refused_total", "Handshakes refused because of a wrong cookie."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Refused.Load()) }},
	{wireDesc("handshakes_failed_total", "Handshakes that failed for another reason than the cookie."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Failed.Load()) }},
	{wireDesc("malformed_total", "Connections closed because of a malformed packet or term."), prometheus.CounterValue,
		func(c *dist.Counters) float64 { return float64(c.Malformed.Load()) }},
}

// wireReasons are counters by reason.
var wireReasons = []struct {
	desc   *prometheus.Desc
	counts func(*dist.Counts) map[string]uint64
}{
	{wireDesc("handshake_failures_total", "Failed handshakes, by reason.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Handshakes }},
	{wireDesc("connections_ended_total", "Connections that this node ended, by reason; slow: the peer did not read its messages.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Ended }},
	{wireDesc("messages_refused_total", "Messages that were not delivered, by reason.", "reason"),
		func(c *dist.Counts) map[string]uint64 { return c.Refused }},
}

// wireGauges are the metrics of each connection.
var wireGauges = []struct {
	desc  *prometheus.Desc
	value func(*dist.ConnectionStats) int64
}{
	{wireDesc("connection_assembly_bytes", "Bytes of messages in assembly, without large binaries.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Assembly }},
	{wireDesc("connection_decoded_bytes", "Bytes of decoded messages that wait to be handled.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Decoding }},
	{wireDesc("connection_signal_bytes", "Bytes of the peer's monitors and links.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Signals }},
	{wireDesc("connection_queued_bytes", "Bytes of messages that wait for the peer to read them, with large binaries.", "peer"),
		func(c *dist.ConnectionStats) int64 { return c.Waiting }},
}

func wireDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nxvk_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (w wireCollector) Describe(out chan<- *prometheus.Desc) {
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

// Collect implements prometheus.Collector.
func (w wireCollector) Collect(out chan<- prometheus.Metric) {
	for _, x := range wireCounters {
		out <- prometheus.MustNewConstMetric(x.desc, x.kind, x.count(w.node.Counters()))
	}
	counts := w.node.Counts()
	for _, x := range wireReasons {
		for reason, n := range x.counts(&counts) {
			out <- prometheus.MustNewConstMetric(x.desc, prometheus.CounterValue, float64(n), reason)
		}
	}
	for _, c := range sumSmallest(w.node.Connections()) {
		for _, x := range wireGauges {
			out <- prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, float64(x.value(&c)), string(c.Peer))
		}
	}
}

// sumSmallest returns the connections that hold most memory, and the sum of all others as a
// connection to the peer "other".
func sumSmallest(all []dist.ConnectionStats) []dist.ConnectionStats {
	slices.SortStableFunc(all, func(a, b dist.ConnectionStats) int { return cmp.Compare(bytesHeld(&b), bytesHeld(&a)) })
	other := dist.ConnectionStats{Peer: "other"}
	for i := range all {
		c := &all[i]
		if i < maxConnections {
			c.Peer = gen.Atom(report.Printable(string(c.Peer)))
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

func bytesHeld(c *dist.ConnectionStats) int64 { return c.Assembly + c.Decoding + c.Signals + c.Waiting }
