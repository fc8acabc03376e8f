package server

import (
	"errors"
	"fmt"
	"io"

	"nxvk/gen/etf"
)

var errNotManager = errors.New("requests are info, support, sessions, metrics and {echo, Term}; see gen/README.md")

// AskMetrics asks the manager for Metrics, from outside of actors. The channel
// has room for the answer.
type AskMetrics struct{ Answer chan<- Metrics }

// Metric is one number of one device.
type Metric struct {
	Name    string // in the manner of Prometheus, without the prefix
	Help    string
	Counter bool // it only grows
	Device  string
	Value   float64
}

// Metrics are all numbers of a node, those of one name together.
type Metrics []Metric

// metrics collects the numbers of all devices.
func (m *Manager) metrics() Metrics {
	var out Metrics
	all := m.statuses()
	for _, row := range metricRows {
		for _, s := range all {
			out = append(out, Metric{row.name, row.help, row.counter, s.Name, row.value(&s)})
		}
	}
	return out
}

var metricRows = []struct {
	name    string
	help    string
	counter bool
	value   func(*status) float64
}{
	{"sessions", "Processes that have values on the device.", false, func(s *status) float64 { return float64(len(s.Sessions)) }},
	{"buffers", "Values held by sessions.", false, func(s *status) float64 {
		n := 0
		for _, session := range s.Sessions {
			n += session.Buffers
		}
		return float64(n)
	}},
	{"session_bytes", "Bytes charged to sessions.", false, func(s *status) float64 {
		n := int64(0)
		for _, session := range s.Sessions {
			n += session.Bytes
		}
		return float64(n)
	}},
	{"device_used_bytes", "Device memory in live buffers.", false, func(s *status) float64 { return float64(s.Memory.InUse) }},
	{"device_reserved_bytes", "Device memory taken from the driver.", false, func(s *status) float64 { return float64(s.Memory.Reserved) }},
	{"instructions_total", "Instructions carried out.", true, func(s *status) float64 { return float64(s.Counters.Instructions) }},
	{"host_instructions_total", "Instructions computed on the host.", true, func(s *status) float64 { return float64(s.Counters.Host) }},
	{"fallbacks_total", "Instructions computed on the host because the device cannot.", true, func(s *status) float64 { return float64(s.Counters.Fallbacks) }},
	{"failed_total", "Instructions that failed.", true, func(s *status) float64 { return float64(s.Counters.Failed) }},
	{"dispatches_total", "Kernels recorded for the device.", true, func(s *status) float64 { return float64(s.Counters.Dispatches) }},
	{"prompt_dispatches_total", "Kernels that the host carried out in the stead of a processor.", true, func(s *status) float64 { return float64(s.Counters.Prompt) }},
	{"leapfrog_steps_total", "Leapfrog steps that chains of the sampler have had the device take.", true, func(s *status) float64 { return float64(s.Counters.Leaps) }},
	{"submits_total", "Batches submitted to the device.", true, func(s *status) float64 { return float64(s.Counters.Submits) }},
	{"submit_latency_seconds", "Mean time from submission to completion.", false, func(s *status) float64 { return s.Memory.Latency.Seconds() }},
	{"uploaded_bytes_total", "Bytes of uploaded tensors.", true, func(s *status) float64 { return float64(s.Counters.Uploaded) }},
	{"downloaded_bytes_total", "Bytes read back from the device.", true, func(s *status) float64 { return float64(s.Counters.Downloaded) }},
}

// term is the map of the metrics request: name to device to number.
func (m Metrics) term() etf.Term {
	var out etf.Map
	for i := 0; i < len(m); {
		var devices etf.Map
		name := m[i].Name
		for ; i < len(m) && m[i].Name == name; i++ {
			devices = append(devices, etf.Pair{Key: etf.Atom(m[i].Device), Value: m[i].Value})
		}
		out = append(out, pair(name, devices))
	}
	return out
}

// Write prints the metrics in the text format of Prometheus.
func (m Metrics) Write(w io.Writer) {
	last := ""
	for _, x := range m {
		if x.Name != last {
			kind := "gauge"
			if x.Counter {
				kind = "counter"
			}
			fmt.Fprintf(w, "# HELP nxvk_%s %s\n# TYPE nxvk_%s %s\n", x.Name, x.Help, x.Name, kind)
			last = x.Name
		}
		label := ""
		if x.Device != "" {
			label = fmt.Sprintf("{device=%q}", x.Device)
		}
		fmt.Fprintf(w, "nxvk_%s%s %g\n", x.Name, label, x.Value)
	}
}
