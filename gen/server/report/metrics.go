package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"nxvk/gen/etf"
)

// prefix is that of the names of all metrics; the others are names of histograms.
const (
	prefix        = "nxvk_"
	callSeconds   = "call_seconds"
	waitSeconds   = "queue_wait_seconds"
	submitSeconds = "submit_latency_seconds"
	turnSeconds   = "device_wait_seconds"
	runSeconds    = "device_run_seconds"
)

// metricRows are the metrics of a snapshot, one series a device.
var metricRows = []struct {
	name    string
	help    string
	counter bool
	value   func(*Snapshot) float64
}{
	{"sessions", "Sessions on the device: processes that have values there.", false, func(s *Snapshot) float64 { return float64(len(s.Sessions)) }},
	{"buffers", "Values that sessions hold.", false, func(s *Snapshot) float64 {
		n := 0
		for _, session := range s.Sessions {
			n += session.Buffers
		}
		return float64(n)
	}},
	{"session_bytes", "Bytes charged to all sessions.", false, func(s *Snapshot) float64 {
		n := int64(0)
		for _, session := range s.Sessions {
			n += session.Bytes
		}
		return float64(n)
	}},
	{"device_used_bytes", "Bytes of device memory in live buffers.", false, func(s *Snapshot) float64 { return float64(s.Memory.InUse) }},
	{"device_reserved_bytes", "Bytes of device memory taken from the driver.", false, func(s *Snapshot) float64 { return float64(s.Memory.Reserved) }},
	{"instructions_total", "Executed instructions.", true, func(s *Snapshot) float64 { return float64(s.Counters.Instructions) }},
	{"host_instructions_total", "Instructions executed on the host.", true, func(s *Snapshot) float64 { return float64(s.Counters.Host) }},
	{"in_place_total", "Instructions on the device that updated an operand where it was, without a copy of it.", true, func(s *Snapshot) float64 { return float64(s.Counters.InPlace) }},
	{"fallbacks_total", "Instructions executed on the host because the device cannot execute them.", true, func(s *Snapshot) float64 { return float64(s.Counters.Fallbacks) }},
	{"refused_kernels_total", "Kernels that the driver did not compile.", true, func(s *Snapshot) float64 { return float64(s.Counters.Refused) }},
	{"failed_total", "Failed instructions.", true, func(s *Snapshot) float64 { return float64(s.Counters.Failed) }},
	{"dispatches_total", "Dispatches recorded for the device.", true, func(s *Snapshot) float64 { return float64(s.Counters.Dispatches) }},
	{"warm_up_dispatches_total", "Dispatches executed by the warm-up interpreter of a processor.", true, warmUps},
	{"prompt_dispatches_total", "Former name of warm_up_dispatches_total, which the next release does not have.", true, warmUps},
	{"leapfrog_steps_total", "Leapfrog steps of the sampler on the device.", true, func(s *Snapshot) float64 { return float64(s.Counters.LeapfrogSteps) }},
	{"submits_total", "Batches submitted to the device.", true, func(s *Snapshot) float64 { return float64(s.Counters.Submits) }},
	{"uploaded_bytes_total", "Bytes of uploaded tensors.", true, func(s *Snapshot) float64 { return float64(s.Counters.Uploaded) }},
	{"imported_bytes_total", "Bytes of values imported from other devices of the node.", true, func(s *Snapshot) float64 { return float64(s.Counters.Imported) }},
	{"exchanged_bytes_total", "Bytes that collectives have read and written in memory that the devices of the node share.", true, func(s *Snapshot) float64 { return float64(s.Counters.Exchanged) }},
	{"relayed_total", "Collectives of programs whose operand a kernel has passed on to the host while it ran.", true, func(s *Snapshot) float64 { return float64(s.Counters.Relayed) }},
	{"downloaded_bytes_total", "Bytes read back from the device.", true, func(s *Snapshot) float64 { return float64(s.Counters.Downloaded) }},
	{"device_busy_seconds", "Time that the device server has spent on its current message; 0 without one.", false, func(s *Snapshot) float64 { return s.Busy.Seconds() }},
	{"device_submission_seconds", "Age of the oldest submission that has not completed; 0 without one.", false, func(s *Snapshot) float64 { return since(s.Oldest).Seconds() }},
	{"device_queued_messages", "Messages that wait for the device server.", false, func(s *Snapshot) float64 { return float64(s.Queued) }},
	{"device_up", "1 if the device serves, 0 if it is lost.", false, func(s *Snapshot) float64 {
		if s.Lost != "" {
			return 0
		}
		return 1
	}},
}

// warmUps counts the dispatches of the warm-up interpreter.
func warmUps(s *Snapshot) float64 { return float64(s.Counters.Interpreted) }

// since returns the time since at; 0 if at is the zero time.
func since(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return time.Since(at)
}

// Term is the answer to the request metrics: a map from name to device to number. A histogram
// has its count and its sum there.
func (all Reporters) Term(patience time.Duration) etf.Term {
	list := all.Snapshots(patience)
	var out etf.Map
	for _, row := range metricRows {
		var devices etf.Map
		for i := range list {
			devices = append(devices, etf.Pair{Key: etf.Atom(list[i].Name), Value: row.value(&list[i])})
		}
		out = append(out, entry(row.name, devices))
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
		out = append(out, entry(h.name+"_count", counts), entry(h.name+"_sum", sums))
	}
	return out
}

func entry(key string, value etf.Term) etf.Pair { return etf.Pair{Key: etf.Atom(key), Value: value} }

// histograms are the histograms of a device.
var histograms = []struct {
	name string
	of   func(*Reporter) prometheus.Histogram
}{
	{callSeconds, func(r *Reporter) prometheus.Histogram { return r.calls }},
	{waitSeconds, func(r *Reporter) prometheus.Histogram { return r.waits }},
	{submitSeconds, func(r *Reporter) prometheus.Histogram { return r.submits }},
	{turnSeconds, func(r *Reporter) prometheus.Histogram { return r.turns }},
	{runSeconds, func(r *Reporter) prometheus.Histogram { return r.runs }},
}
