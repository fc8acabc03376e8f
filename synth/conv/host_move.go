package conv

import (
	"slices"

	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/synth/elementwise"
	"nxvk/synth/lowering"
	"nxvk/synth/stored"
	"nxvk/synth/strided"
)

// move is a copy of sums to their places in the result.
type move[T stored.Number] struct {
	dims     []int
	in, out  strided.View
	narrow   ops.DType
	pieces   int // of the dimensions but the last
	inLast   int
	outLast  int
	lastSize int
}

// moveOnHost carries out a job of Convolution.place, all of its programs; nil where the host has no routine.
func (c *Convolution) moveOnHost(j *elementwise.Job) *lowering.Routine {
	to := c.In.Outs[0].Type.DType
	if !c.t.CPU || !stored.Computes(to, c.wide) {
		return nil
	}
	switch {
	case c.wide == ops.F32:
		return moveOf[float32](j, to)
	case c.wide == ops.F64:
		return moveOf[float64](j, to)
	case c.wide.Size() == 4:
		return moveOf[uint32](j, to)
	}
	return moveOf[uint64](j, to)
}

func moveOf[T stored.Number](j *elementwise.Job, to ops.DType) *lowering.Routine {
	clone := func(v strided.View) strided.View {
		return strided.View{Offset: v.Offset, Strides: slices.Clone(v.Strides)}
	}
	last := len(j.Dims) - 1
	m := &move[T]{dims: slices.Clone(j.Dims), in: clone(j.Sources[0].View), out: clone(j.Out), narrow: to,
		pieces: strided.Product(j.Dims[:last]), lastSize: j.Dims[last]}
	m.inLast, m.outLast = m.in.Strides[last], m.out.Strides[last]
	return &lowering.Routine{Run: m.run}
}

func (m *move[T]) run(worker *sched.Worker, buffers [][]byte) {
	from, to := stored.Wide[T](buffers[0]), stored.ResultsOf[T](m.narrow, buffers[1])
	last := len(m.dims) - 1
	worker.For(m.pieces, share(m.pieces, m.lastSize, pieceSize), func(_ *sched.Worker, low, high int) {
		place := make([]int, last)
		for rest, i := low, last-1; i >= 0; i-- {
			rest, place[i] = rest/m.dims[i], rest%m.dims[i]
		}
		for range high - low {
			at, out := m.in.Offset, m.out.Offset
			for i, p := range place {
				at += p * m.in.Strides[i]
				out += p * m.out.Strides[i]
			}
			to.Scatter(out, m.outLast, from[at:], m.inLast, m.lastSize)
			countUp(place, m.dims)
		}
	})
}
