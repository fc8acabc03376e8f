package sorting

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// prefixJob replaces each count of a row by the sum of the counts before it (an
// exclusive scan). Long rows are cut into segments, whose sums are a temporary
// that is treated in the same manner before the segments are: no invocation
// waits for another one.
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
func newPrefixJob(rows, length, counts int, t *lowering.Target, temps *[]int64) []*codegen.Program {
	j := &prefixJob{rows: rows, length: length, counts: counts, sums: -1, segment: gpuSegment}
	if t.CPU {
		j.segment = cpuSegment
	}
	j.pieces = (length + j.segment - 1) / j.segment
	if j.pieces == 1 {
		return []*codegen.Program{j.program(t, false)}
	}
	j.sums = len(*temps)
	*temps = append(*temps, int64(4*rows*j.pieces))
	programs := []*codegen.Program{j.program(t, true)}
	programs = append(programs, newPrefixJob(rows, j.pieces, j.sums, t, temps)...)
	return append(programs, j.program(t, false))
}

// program adds up every segment, or replaces its elements by running sums.
func (j *prefixJob) program(t *lowering.Target, total bool) *codegen.Program {
	units := j.rows * j.pieces
	access := lowering.Read | lowering.Write
	if total {
		access = lowering.Read
	}
	p := &codegen.Program{Local: strided.GPUPart, Index: scalar.U32, Numbers: []int{units, j.pieces, j.segment, j.length},
		Flops: int64(j.rows * j.length), Bytes: int64(8 * j.rows * j.length),
		Buffers: []codegen.Buffer{{Ref: lowering.Ref{Kind: lowering.Temp, Index: j.counts}, Elem: kernel.U32, Access: access, Bytes: int64(4 * j.rows * j.length)}},
		Body:    func(e *codegen.Emitter) error { return j.write(e, total) },
		Key:     fmt.Sprintf("prefix total=%v segments=%v", total, j.sums >= 0)}
	if t.CPU {
		p.Local = 8
	}
	p.Groups = (units + int(p.Local) - 1) / int(p.Local)
	if j.sums >= 0 {
		access = lowering.Read
		if total {
			access = lowering.Write
		}
		p.Buffers = append(p.Buffers, codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: j.sums}, Elem: kernel.U32, Access: access, Bytes: int64(4 * units)})
	}
	return p
}

func (j *prefixJob) write(e *codegen.Emitter, total bool) error {
	units, pieces, segment, length := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		r, piece := e.DivMod(u, pieces)
		start := e.Mul(r, length)
		from := e.Mul(piece, segment)
		end := e.Add(from, segment)
		end = e.Select(e.Compare(scalar.Lt, end, length), end, length)
		sum := e.Index(0)
		if !total && j.sums >= 0 {
			sum = e.Load(1, u, 1)[0]
		}
		out := e.Loop(from, end, e.Index(1), []kernel.Value{sum}, func(i kernel.Value, sum []kernel.Value) []kernel.Value {
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
