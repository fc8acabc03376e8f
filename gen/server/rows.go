package server

import (
	"bytes"
	"sync/atomic"

	"nxvk/gen/chain"
	"nxvk/gen/etf"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// replyRows returns a function that answers with the results of leapfrog steps, large ones
// without a copy.
func (d *Device) replyRows(c dist.Call) func(sample.Rows, error) {
	return func(r sample.Rows, err error) {
		if err != nil {
			d.reply(c, failure(err))
			return
		}
		parts := [][]byte{r.Q, r.P, r.Grad, r.LogP}
		if r.Release == nil {
			r.Release = func() {}
		}
		if len(r.Q) <= inline {
			copied := make(etf.Tuple, len(parts))
			for i, p := range parts {
				copied[i] = bytes.Clone(p)
			}
			r.Release()
			d.reply(c, wire.Success(copied))
			return
		}
		d.replyParts(c, parts, r.Release)
	}
}

// replyParts sends binaries. Their memory is released after the last one.
func (d *Device) replyParts(c dist.Call, parts [][]byte, release func()) {
	var left atomic.Int32
	left.Store(int32(len(parts)))
	out := make(etf.Tuple, len(parts))
	for i, p := range parts {
		out[i] = etf.NewOutside(p, func() {
			if left.Add(-1) == 0 {
				release()
			}
		})
	}
	if !d.reply(c, wire.Success(out)) {
		for _, p := range out {
			p.(etf.Outside).Release()
		}
	}
}

// shaderTerm tells whether the log densities of a shader lag by one step: lags => true, false,
// or unknown before the trial steps.
func shaderTerm(s chain.ShaderInfo) etf.Term {
	lags := etf.Term(etf.Atom("unknown"))
	if s.Tried {
		lags = s.Lags
	}
	return etf.Map{{Key: etf.Atom("lags"), Value: lags}}
}
