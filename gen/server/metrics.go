package server

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"nxvk/gen/etf"
)

var errNotManager = errors.New("requests are info, support, sessions, metrics and {echo, Term}; see gen/README.md")

// prefix of the names of metrics, and the names of those that are histograms.
const (
	prefix        = "nxvk_"
	callSeconds   = "call_seconds"
	waitSeconds   = "queue_wait_seconds"
	submitSeconds = "submit_latency_seconds"
)

// metricRows are the numbers that a snapshot gives, one a device.
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
	{"refused_kernels_total", "Kernels that the driver does not compile.", true, func(s *status) float64 { return float64(s.Counters.Refused) }},
	{"failed_total", "Instructions that failed.", true, func(s *status) float64 { return float64(s.Counters.Failed) }},
	{"dispatches_total", "Kernels recorded for the device.", true, func(s *status) float64 { return float64(s.Counters.Dispatches) }},
	{"prompt_dispatches_total", "Kernels that the host carried out in the stead of a processor.", true, func(s *status) float64 { return float64(s.Counters.Interpreted) }},
	{"leapfrog_steps_total", "Leapfrog steps that chains of the sampler have had the device take.", true, func(s *status) float64 { return float64(s.Counters.Leaps) }},
	{"submits_total", "Batches submitted to the device.", true, func(s *status) float64 { return float64(s.Counters.Submits) }},
	{"uploaded_bytes_total", "Bytes of uploaded tensors.", true, func(s *status) float64 { return float64(s.Counters.Uploaded) }},
	{"downloaded_bytes_total", "Bytes read back from the device.", true, func(s *status) float64 { return float64(s.Counters.Downloaded) }},
	{"device_busy_seconds", "Time that the device server has been handling the same message; 0 where it is handling none.", false, func(s *status) float64 { return s.Busy.Seconds() }},
	{"device_submission_seconds", "Age of the oldest submission that has not completed; 0 where there is none.", false, func(s *status) float64 { return since(s.Oldest).Seconds() }},
	{"device_queued_messages", "Messages that wait for the device server.", false, func(s *status) float64 { return float64(s.Queued) }},
	{"device_up", "1 where the device serves, 0 where it is lost.", false, func(s *status) float64 {
		if s.Lost != "" {
			return 0
		}
		return 1
	}},
}

// since is the time that has passed, 0 where at is the zero time.
func since(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return time.Since(at)
}

// term is the map of the metrics request: name to device to number. Of histograms
// it has how many there were and their sum.
func (all Reporters) term(patience time.Duration) etf.Term {
	list := all.statuses(patience)
	var out etf.Map
	for _, row := range metricRows {
		var devices etf.Map
		for i := range list {
			devices = append(devices, etf.Pair{Key: etf.Atom(list[i].Name), Value: row.value(&list[i])})
		}
		out = append(out, pair(row.name, devices))
	}
	for _, h := range histograms {
		var counts, sums etf.Map
		for _, r := range all {
			var m dto.Metric
			if err := h.of(r).Write(&m); err != nil {
				continue
			}
			key := etf.Atom(r.name)
			counts = append(counts, etf.Pair{Key: key, Value: float64(m.Histogram.GetSampleCount())})
			sums = append(sums, etf.Pair{Key: key, Value: m.Histogram.GetSampleSum()})
		}
		out = append(out, pair(h.name+"_count", counts), pair(h.name+"_sum", sums))
	}
	return out
}

// histograms are those of each device.
var histograms = []struct {
	name string
	of   func(*Reporter) prometheus.Histogram
}{
	{callSeconds, func(r *Reporter) prometheus.Histogram { return r.calls }},
	{waitSeconds, func(r *Reporter) prometheus.Histogram { return r.waits }},
	{submitSeconds, func(r *Reporter) prometheus.Histogram { return r.submits }},
}
