package server

import (
	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/queue"
	"nxvk/node/dist"
)

// manyParts is how many parts of a program are told on the goroutine of the server at most: the
// terms of one part take some microseconds to make and to encode.
const manyParts = 64

// replyExplained answers with the parts of a program. An answer of many parts is made and encoded
// apart from the goroutine of the server.
func (d *Device) replyExplained(c dist.Call, q *exec.Queue, parts []explain.Part, measured bool, err error) {
	reply := func() { d.replyResult(c, func() etf.Term { return explainedTerm(parts, measured) }, err) }
	if err != nil || len(parts) <= manyParts {
		reply()
		return
	}
	d.exec.Services().Aside(q, hostjob.WorkExplain, func(*sched.Worker) error {
		reply()
		return nil
	}, func(err error) {
		if err != nil { // the session has ended meanwhile, or a panic
			d.reply(c, failure(err))
		}
	})
}

// explainedTerm is a list with a map for each part of a program; measured adds the measured
// time.
func explainedTerm(parts []explain.Part, measured bool) etf.Term {
	list := make(etf.List, len(parts))
	for i := range parts {
		p := &parts[i]
		var sum explain.Kernel
		kernels := make(etf.List, len(p.Kernels))
		for k := range p.Kernels {
			one := &p.Kernels[k]
			kernels[k] = append(etf.Map{pair("name", one.Name), pair("grid", gridTerm(one.Grid))}, costPairs(one)...)
			sum.Bytes, sum.Flops, sum.Seconds = sum.Bytes+one.Bytes, sum.Flops+one.Flops, sum.Seconds+one.Seconds
		}
		m := append(etf.Map{
			pair("block", p.Block), pair("place", etf.Atom(string(p.Place))), pair("instructions", textsTerm(p.Instructions)), pair("why", textsTerm(p.Why)),
			pair("kernels", kernels), pair("waits", waitsTerm(p.Waits)),
			pair("held", p.Held), pair("params", p.Params),
		}, costPairs(&sum)...)
		if measured {
			m = append(m, pair("measured", measuredTerm(p.Measured)))
		}
		list[i] = m
	}
	return list
}

// waitsTerm maps the reason of a wait to the number of such waits.
func waitsTerm(c queue.Counts) etf.Map {
	m := etf.Map{}
	for why, n := range c {
		if n > 0 {
			m = append(m, pair(queue.Wait(why).String(), int64(n)))
		}
	}
	return m
}

func textsTerm(texts []string) etf.List {
	list := make(etf.List, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func measuredTerm(seconds float64) etf.Term {
	if seconds == 0 {
		return etf.Atom("nil")
	}
	return seconds
}

func gridTerm(g [3]uint32) etf.Term {
	return etf.Tuple{int64(g[0]), int64(g[1]), int64(g[2])}
}

func costPairs(k *explain.Kernel) []etf.Pair {
	return []etf.Pair{pair("bytes", k.Bytes), pair("flops", k.Flops), pair("seconds", k.Seconds)}
}
