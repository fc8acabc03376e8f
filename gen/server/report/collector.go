package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"nxvk/gen/exec/queue"
)

// maxSessions is the number of sessions of a device with series of their own: those that hold
// most memory. The others are summed in one series.
const maxSessions = 100

// maxLabel is the number of characters of a client's label in the metrics.
const maxLabel = 64

var (
	rowDescs     = describe()
	sessionLabel = []string{"device", "session", "label"}
	sessionBytes = prometheus.NewDesc(prefix+"session_memory_bytes",
		"Bytes charged to a session; the session other is the sum of the smallest.", sessionLabel, nil)
	waits = prometheus.NewDesc(prefix+"waits_total",
		"How often the queue of a session has had to wait, by reason.", []string{"device", "reason"}, nil)
	sessionWaiting = prometheus.NewDesc(prefix+"session_waiting_requests",
		"Instructions and reads of a session that wait.", sessionLabel, nil)
)

func describe() []*prometheus.Desc {
	var all []*prometheus.Desc
	for _, row := range metricRows {
		all = append(all, prometheus.NewDesc(prefix+row.name, row.help, []string{"device"}, nil))
	}
	return all
}

// Describe implements prometheus.Collector.
func (all Reporters) Describe(out chan<- *prometheus.Desc) {
	for _, d := range append(slices.Clone(rowDescs), sessionBytes, sessionWaiting, waits) {
		out <- d
	}
	for _, r := range all {
		for _, h := range histograms {
			h.of(r).Describe(out)
		}
	}
}

// Collect implements prometheus.Collector. It waits no longer than Patience.
func (all Reporters) Collect(out chan<- prometheus.Metric) {
	list := all.Snapshots(Patience)
	for i := range list {
		s := &list[i]
		for k, row := range metricRows {
			kind := prometheus.GaugeValue
			if row.counter {
				kind = prometheus.CounterValue
			}
			out <- prometheus.MustNewConstMetric(rowDescs[k], kind, row.value(s), s.Name)
		}
		for why, n := range s.Counters.Waits[1:] {
			out <- prometheus.MustNewConstMetric(waits, prometheus.CounterValue, float64(n), s.Name, queue.Wait(why+1).String())
		}
		s.collectSessions(out)
	}
	for _, r := range all {
		for _, h := range histograms {
			h.of(r).Collect(out)
		}
	}
}

// collectSessions collects the metrics of the sessions that hold most memory, and the sums of
// all others.
func (s *Snapshot) collectSessions(out chan<- prometheus.Metric) {
	tell := func(bytes int64, waiting int, session, label string) {
		out <- prometheus.MustNewConstMetric(sessionBytes, prometheus.GaugeValue, float64(bytes), s.Name, session, label)
		out <- prometheus.MustNewConstMetric(sessionWaiting, prometheus.GaugeValue, float64(waiting), s.Name, session, label)
	}
	all := slices.Clone(s.Sessions) // the snapshot is shared
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Owner.ID, b.Owner.ID))
	})
	own := all[:min(len(all), maxSessions)]
	for _, x := range own {
		tell(x.Bytes, x.Waiting, fmt.Sprintf("<%s.%d.%d>", x.Owner.Node, x.Owner.ID, x.Owner.Serial), Printable(x.Label))
	}
	if len(all) == len(own) {
		return
	}
	var bytes int64
	waiting := 0
	for _, x := range all[len(own):] {
		bytes, waiting = bytes+x.Bytes, waiting+x.Waiting
	}
	tell(bytes, waiting, "other", "")
}

// Printable returns the first maxLabel characters of a client's text, with a question mark in
// place of characters that terminals or Prometheus refuse.
func Printable(text string) string {
	runes := []rune(strings.ToValidUTF8(text, "?"))
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	return string(runes[:min(len(runes), maxLabel)])
}
