package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// prefixJob replaces rows of counts by the sums of what comes before each. Long
// rows are cut into segments, whose sums are a temporary that is treated in the
// same manner before the segments are: no invocation waits for another one.
type prefixJob struct {
	rows, length    int
	counts, sums    int // temporaries; sums is -1 where a row is one segment
	segment, pieces int
}

// Elements of a segment. A GPU walks slowly but in many places.
const (
	gpuSegment = 32
	cpuSegment = 512
)

// newPrefixJob plans the sums of rows of a temporary. It adds temporaries to the
// list.
func newPrefixJob(rows, length, counts int, t *Target, temps *[]int64) []*program {
	j := &prefixJob{rows: rows, length: length, counts: counts, sums: -1, segment: gpuSegment}
	if t.CPU {
		j.segment = cpuSegment
	}
	j.pieces = (length + j.segment - 1) / j.segment
	if j.pieces == 1 {
		return []*program{j.program(t, false)}
	}
	j.sums = len(*temps)
	*temps = append(*temps, int64(4*rows*j.pieces))
	programs := []*program{j.program(t, true)}
	programs = append(programs, newPrefixJob(rows, j.pieces, j.sums, t, temps)...)
	return append(programs, j.program(t, false))
}

// program adds up every segment, or replaces its elements by running sums.
func (j *prefixJob) program(t *Target, total bool) *program {
	units := j.rows * j.pieces
	access := Read | Write
	if total {
		access = Read
	}
	p := &program{local: gpuPart, index: scalar.U32, nums: []int{units, j.pieces, j.segment, j.length},
		flops: int64(j.rows * j.length), bytes: int64(8 * j.rows * j.length),
		bufs: []buffer{{ref: Ref{Temp, j.counts}, elem: kernel.U32, access: access, bytes: int64(4 * j.rows * j.length)}},
		body: func(e *emitter) error { return j.write(e, total) },
		key:  fmt.Sprintf("prefix total=%v segments=%v", total, j.sums >= 0)}
	if t.CPU {
		p.local = 8
	}
	p.groups = (units + int(p.local) - 1) / int(p.local)
	if j.sums >= 0 {
		access = Read
		if total {
			access = Write
		}
		p.bufs = append(p.bufs, buffer{ref: Ref{Temp, j.sums}, elem: kernel.U32, access: access, bytes: int64(4 * units)})
	}
	return p
}

func (j *prefixJob) write(e *emitter, total bool) error {
	units, pieces, segment, length := e.num(), e.num(), e.num(), e.num()
	u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		r, piece := e.divide(u, pieces)
		start := e.Mul(r, length)
		from := e.Mul(piece, segment)
		end := e.Add(from, segment)
		end = e.Select(e.Compare(scalar.Lt, end, length), end, length)
		sum := e.int(0)
		if !total && j.sums >= 0 {
			sum = e.Load(1, u, 1)[0]
		}
		out := e.Loop(from, end, e.int(1), []kernel.Value{sum}, func(i kernel.Value, sum []kernel.Value) []kernel.Value {
			at := e.Add(start, i)
			n := e.Load(0, at, 1)[0]
			if !total {
				e.Store(0, at, sum[0])
			}
			return []kernel.Value{e.Add(sum[0], n)}
		})
		if total {
			e.Store(1, u, out[0])
		}
		return nil
	}, nil)
	return nil
}
