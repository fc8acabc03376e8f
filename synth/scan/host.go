package scan

import (
	"encoding/binary"

	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/stored"
	"nxvk/synth/windowing"
)

// The kernel of a processor gives each component of a vector a chunk, whose elements a driver loads one by one. The host scans
// the same chunks of lines whose elements are neighbours, in the same order (see scanJob), as they lie in memory.

// routine carries out the kernel p on the host; nil where the host cannot.
func (j *scanJob) routine(t *lowering.Target, p *codegen.Program, totals bool) lowering.Host {
	if !t.CPU || p.Index != scalar.U32 || !j.dense() || 4*len(p.Numbers) > t.PushBytes() || !stored.Computes(j.fromType, j.elem.Wide()) {
		return nil
	}
	to := j.toType
	if totals {
		to = j.elem.Wide()
	}
	s := hostScan{op: windowing.Folds[j.op], rank: len(j.dims), from: j.fromType, to: to, totals: totals, before: len(p.Buffers) > 2}
	switch j.elem.Wide() {
	case ops.F32:
		return func(w *sched.Worker, buffers [][]byte, push []byte, _ [3]uint32) int {
			return scan[float32](w, &s, buffers, push)
		}
	case ops.F64:
		return func(w *sched.Worker, buffers [][]byte, push []byte, _ [3]uint32) int {
			return scan[float64](w, &s, buffers, push)
		}
	}
	return nil
}

// hostScan is what the host must know of a kernel besides its numbers.
type hostScan struct {
	op             ops.Op // the reduction whose operator folds
	rank           int
	from, to       ops.DType
	totals, before bool
}

// chunks are those of a dispatch on the host.
type chunks[T float32 | float64] struct {
	*hostScan
	numbers                   []int
	parts, length, n, forward int // forward is 1, or -1 where lines run backward
	from                      stored.Elements[T]
	to                        stored.Results[T]
	onto                      []T // the totals of the chunks up to each one
}

// scan carries out a kernel of chunks, an invocation each. Its numbers are those of scanJob.program.
func scan[T float32 | float64](w *sched.Worker, s *hostScan, buffers [][]byte, push []byte) int {
	c := &chunks[T]{hostScan: s, from: stored.ElementsOf[T](s.from, buffers[0]), to: stored.ResultsOf[T](s.to, buffers[1])}
	for at := 0; at+4 <= len(push); at += 4 {
		c.numbers = append(c.numbers, int(int32(binary.LittleEndian.Uint32(push[at:]))))
	}
	units := c.numbers[0]
	c.parts, c.length, c.n, c.forward = c.numbers[1], c.numbers[3], c.numbers[4], c.numbers[5]
	if s.before {
		c.onto = stored.Wide[T](buffers[2])
	}
	each := min(c.length, c.n)
	grain := max((units+sched.Processors()-1)/sched.Processors(), (scanRange+each-1)/each)
	w.For(units, grain, func(w *sched.Worker, lo, hi int) {
		room := make([]T, 2*each)
		for u := lo; u < hi; u++ {
			c.chunk(u, room[:each], room[each:])
			w.Check()
		}
	})
	return c.numbers[2] * c.n
}

// scanRange is how many elements a worker scans at least.
const scanRange = 1 << 13

// chunk scans chunk u. The rooms are for its elements and its results.
func (c *chunks[T]) chunk(u int, room, out []T) {
	line, part := u/c.parts, u%c.parts
	first := part * c.length
	n := min(c.length, c.n-first)
	at := c.begin(line) + first*c.forward
	if c.forward < 0 {
		at -= n - 1
	}
	xs := c.from.Get(at, room[:n])
	if c.forward < 0 {
		xs = reversed(out[:n], xs)
		room, out = out, room
	}
	acc := xs[0]
	if c.before && part > 0 {
		acc = total(c.op, c.onto[u-1], xs[:1])
	}
	if c.totals {
		c.to.Put(u, total(c.op, acc, xs[1:]))
		return
	}
	out = out[:n]
	out[0] = acc
	running(c.op, acc, xs[1:], out[1:])
	if c.forward < 0 {
		out = reversed(room[:n], out)
	}
	c.to.Scatter(at, 1, out, 1, n)
}

// begin is where a line begins: its coordinates times strides, the last dimension first.
func (c *chunks[T]) begin(line int) int {
	at, dims := c.numbers[6], c.numbers[7:]
	for d := c.rank - 1; d > 0; d-- {
		at += line % dims[2*d] * dims[2*d+1]
		line /= dims[2*d]
	}
	return at + line*dims[1]
}

// reversed copies elements, the last one first.
func reversed[T any](to, from []T) []T {
	for i, x := range from {
		to[len(from)-1-i] = x
	}
	return to
}

// total folds elements onto acc, as the expression of the operator does: of equal numbers it keeps the first, and any NaN.
func total[T float32 | float64](op ops.Op, acc T, xs []T) T {
	switch op {
	case ops.Sum:
		for _, x := range xs {
			acc += x
		}
	case ops.Product:
		for _, x := range xs {
			acc *= x
		}
	case ops.ReduceMax:
		for _, x := range xs {
			if acc < x || x != x {
				acc = x
			}
		}
	case ops.ReduceMin:
		for _, x := range xs {
			if x < acc || x != x {
				acc = x
			}
		}
	}
	return acc
}

// running folds elements onto acc and keeps every step.
func running[T float32 | float64](op ops.Op, acc T, xs, out []T) {
	out = out[:len(xs)]
	switch op {
	case ops.Sum:
		for i, x := range xs {
			acc += x
			out[i] = acc
		}
	case ops.Product:
		for i, x := range xs {
			acc *= x
			out[i] = acc
		}
	case ops.ReduceMax:
		for i, x := range xs {
			if acc < x || x != x {
				acc = x
			}
			out[i] = acc
		}
	case ops.ReduceMin:
		for i, x := range xs {
			if x < acc || x != x {
				acc = x
			}
			out[i] = acc
		}
	}
}
