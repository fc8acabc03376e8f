package server

import (
	"nxvk/gen/etf"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/spans"
	"nxvk/gen/store"
)

// tellSpans tells the process of a session where the time of a run or a read went.
func (d *Device) tellSpans(s *store.Session, x spans.Report) {
	parts := etf.List{}
	for _, p := range x.Parts {
		place := etf.Term(etf.Atom("nil"))
		if p.Place != "" {
			place = etf.Atom(p.Place)
		}
		parts = append(parts, append(interval(p.Interval), pair("name", etf.Atom(p.Name)), pair("place", place)))
	}
	key, failure := etf.Term(etf.Atom("nil")), etf.Term(etf.Atom("nil"))
	if x.Key != "" {
		key = []byte(x.Key)
	}
	if x.Err != nil {
		failure = x.Err.Error()
	}
	m := append(interval(x.Interval), pair("name", etf.Atom(x.Name)), pair("key", key), pair("error", failure),
		pair("device", d.deviceName()), pair("parts", parts))
	d.tell(s.Owner, etf.Tuple{etf.Atom("nxvk_spans"), etf.Atom(d.cfg.Name), x.Parent, m})
}

func (d *Device) deviceName() string {
	if d.cfg.Vulkan == nil {
		return "host"
	}
	return d.cfg.Vulkan.Info().Name
}

// interval has the times of a span, in nanoseconds of the node's clock since 1970.
func interval(i feed.Interval) etf.Map {
	return etf.Map{pair("start", i.Start.UnixNano()), pair("end", i.End.UnixNano())}
}
