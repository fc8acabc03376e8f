package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/nuts"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// startSample starts a run of chains. Draws go to the process that asked, as fast as its
// connection and its credit allow.
func (d *Device) startSample(c dist.Call, q *exec.Queue, pid gen.PID, s *wire.Sample) {
	d.sampler.Sample(q, s, func(run int, err error) {
		d.replyResult(c, func() etf.Term { return int64(run) }, err)
	}, func(run int, k sample.Chunk) bool { return !errors.Is(d.tell(pid, d.chunkTerm(run, k)), dist.ErrBusy) })
}

// stopSample ends a run of chains. Each chain sends a last message.
func (d *Device) stopSample(c dist.Call, q *exec.Queue, run int) {
	var err error
	if !d.sampler.Stop(q, run) {
		err = &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the session has no run of chains with the number %d", run)}
	}
	d.replyOK(c, err)
}

// takeCredit handles {nxvk_more, Run, Count}. It reports false for any other message. Credit
// for a run that has ended is ignored.
func (d *Device) takeCredit(sender gen.PID, t etf.Tuple) bool {
	if len(t) == 0 || t[0] != etf.Atom("nxvk_more") {
		return false
	}
	run, count, err := wire.DecodeMore(t)
	if err != nil {
		d.reportError(sender, err)
		return true
	}
	if s, ok := d.sessions[sender]; ok {
		d.sampler.More(d.exec.Queue(s), run, count)
	}
	return true
}

// chunkTerm is {nxvk_draws, Server, Run, Chain, Phase, Count, Positions, Statistics},
// or {nxvk_chain, Server, Run, Chain, Result} at the end of a chain, or
// {nxvk_progress, Server, Run, Chains} in between.
func (d *Device) chunkTerm(run int, k sample.Chunk) etf.Term {
	server := etf.Atom(d.cfg.Name)
	if k.Report != nil {
		return etf.Tuple{etf.Atom("nxvk_progress"), server, int64(run), progress(k.Report)}
	}
	if k.Draws == nil {
		return etf.Tuple{etf.Atom("nxvk_chain"), server, int64(run), int64(k.Chain), chainEnd(k)}
	}
	phase := etf.Atom("draws")
	if k.Warmup {
		phase = "warmup"
	}
	var q, stats []byte
	for _, draw := range k.Draws {
		for _, x := range draw.Q {
			q = appendFloat(q, x)
		}
		for _, x := range statistics(draw) {
			stats = appendFloat(stats, x)
		}
	}
	return etf.Tuple{etf.Atom("nxvk_draws"), server, int64(run), int64(k.Chain), phase, int64(len(k.Draws)), q, stats}
}

func chainEnd(k sample.Chunk) etf.Term {
	err := k.Err
	switch {
	case errors.Is(err, context.Canceled):
		err = &wire.Fault{Kind: wire.Cancelled, Err: errors.New("the run was stopped")}
	case errors.Is(err, nuts.ErrDensity), errors.Is(err, nuts.ErrOptions):
		err = &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	if err != nil {
		return wire.Failure(err)
	}
	var metric []byte
	for _, m := range k.End.Metric() {
		metric = appendFloat(metric, m)
	}
	failures, why := k.End.Failures()
	failure := etf.Term(etf.Atom("nil"))
	if why != nil {
		failure = []byte(why.Error())
	}
	return wire.Success(etf.Map{
		{Key: etf.Atom("step"), Value: k.End.Step()},
		{Key: etf.Atom("metric"), Value: metric},
		{Key: etf.Atom("starts"), Value: int64(k.End.Starts())},
		{Key: etf.Atom("failures"), Value: int64(failures)},
		{Key: etf.Atom("failure"), Value: failure},
	})
}

// summariesTerm has ten numbers for each parameter, in the order of gen/README.md.
func summariesTerm(list []nuts.Summary) etf.Term {
	var b []byte
	for _, s := range list {
		for _, x := range [10]float64{s.Mean, s.SD, s.Error, s.Q05, s.Median, s.Q95, s.Bulk, s.Tail, s.Centre, s.Rhat} {
			b = appendFloat(b, x)
		}
	}
	return b
}

// progress has six numbers for each chain, in the order of gen/README.md.
func progress(chains []sample.Progress) (b []byte) {
	for _, p := range chains {
		for _, n := range [5]int{p.Warmup.Done, p.Draws.Done, p.Warmup.Divergent, p.Draws.Divergent, p.Steps} {
			b = appendFloat(b, float64(n))
		}
		b = appendFloat(b, p.Step)
	}
	return b
}

// statistics are the seven numbers of a draw, in the order of gen/README.md.
func statistics(d *nuts.Draw) [7]float64 {
	divergent := 0.0
	if d.Divergent {
		divergent = 1
	}
	return [7]float64{d.LogP, d.Accept, d.Step, d.Energy, float64(d.Depth), float64(d.Steps), divergent}
}

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}
