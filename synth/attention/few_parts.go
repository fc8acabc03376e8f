package attention

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// A query at a time, as a generation has it, gives each head a workgroup, which is few for a device. So the keys of a
// query are divided among several. What joins the parts is so little work that the kernel which reads the results does it
// first, each of its workgroups for itself (see fused.Parts and codegen.Chain), and no dispatch more is needed.

// Bounds of parts that a reader joins.
const (
	maxJoined   = 16      // parts of a query: an invocation has all of them in registers
	joinedBytes = 1 << 17 // of all parts: each workgroup of the reader reads them
	fewHeads    = 64      // queries, from which on they are workgroups enough
	partKeys    = 128     // keys of a part, at most: those that a workgroup has in flight
	joinVector  = 4       // columns of an invocation
)

// share divides the keys of a query into parts that a reader joins, where there are few queries and these are of one
// position. It reports whether it does.
func (f *fewJob) share() bool {
	if s := f.shape; len(s) > 3 && s[0] > 1 || f.queries > 1 || f.rows() > fewHeads || f.width%joinVector != 0 {
		return false
	}
	parts := min(maxJoined, ceil(f.keys, partKeys), joinedBytes/(4*f.rows()*f.width))
	if parts < 2 || ceil(f.keys, parts) > fewKeys*f.threads {
		return false
	}
	f.part = tile.Whole(ceil(f.keys, parts), fewTeam)
	return true
}

// joinable reports whether an invocation joins all parts of a query for some columns.
func (f *fewJob) joinable() bool {
	return f.parts > 1 && f.parts <= maxJoined && f.width%joinVector == 0 && f.rows()*f.parts*f.width*4 <= joinedBytes
}

// Parts gives the program of an attention that leaves its results in parts, in temporaries of the given bytes, and the one
// that joins them, which any number of invocations carries out. ok is false where its keys are not divided.
func Parts(in *ops.Instr, types []ops.Type, t *lowering.Target) (first, join *codegen.Program, temps []int64, ok bool) {
	j, err := newJob(in, t)
	if err != nil || j.few == nil || !j.few.joinable() {
		return nil, nil, nil, false
	}
	if first, err = j.few.program(); err != nil {
		return nil, nil, nil, false
	}
	return first, j.few.columnJoining(), j.few.temps(), true
}

// temps are the bytes of the temporaries of parts.
func (f *fewJob) temps() []int64 {
	n := int64(f.rows() * f.parts)
	return []int64{n * int64(4*f.width), n * 8}
}

// columnJoining is the kernel that joins the parts of a query, some columns by an invocation.
func (f *fewJob) columnJoining() *codegen.Program {
	units := f.rows() * f.width / joinVector
	groups := func(local int) int { return ceil(units, local) }
	p := &codegen.Program{Local: uint32(f.threads), Groups: groups(f.threads), Fit: groups, Body: f.joinColumn, Index: codegen.IndexType(f.rows() * f.parts * f.width),
		Key: fmt.Sprintf("few parts=%d to %v", f.parts, f.result), Numbers: []int{f.width / joinVector, units}}
	for _, b := range []codegen.Buffer{f.sums(lowering.Read), f.tails(lowering.Read)} {
		p.Buffers, p.Bytes = append(p.Buffers, b), p.Bytes+b.Bytes
	}
	f.addResult(p)
	return p
}

// joinColumn is the body of columnJoining. All parts are read before the first is used.
func (f *fewJob) joinColumn(e *codegen.Emitter) error {
	w := &writer{Writer: tile.Writer{Emitter: e}, job: f.job}
	if err := w.functions(); err != nil {
		return err
	}
	line, all := e.NextNumber(), e.NextNumber()
	at := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(at, all), func() {
		query, c := e.DivMod(at, line)
		first := e.Mul(query, e.Index(f.parts))
		var tails, sums [][]kernel.Value
		for i := range f.parts {
			part := e.Add(first, e.Index(i))
			tails = append(tails, e.Fetch(1, part, 2))
			sums = append(sums, e.Fetch(0, e.Add(e.Mul(part, line), c), joinVector))
		}
		out, total := w.joinAll(tails, sums)
		w.storeResults(at, out, total)
	})
	return nil
}

// joinAll joins parts: tails are their greatest logits and the sums of their weights, sums those of values.
func (w *writer) joinAll(tails, sums [][]kernel.Value) (out []kernel.Value, total kernel.Value) {
	least, zero := w.Const(scalar.F32, 0xff800000), w.Float(scalar.F32, 0)
	most := tails[0][0]
	for _, t := range tails[1:] {
		most = w.greater(most, t[0])
	}
	// Of parts that have -Inf alone the exponentials are 0, not those of -Inf - -Inf.
	base := w.Select(w.Compare(scalar.Eq, most, least), zero, most)
	var args [][]kernel.Value
	for _, t := range tails {
		args = append(args, []kernel.Value{w.Sub(t[0], base)})
	}
	scales := w.InlineEach(w.exp, args)
	total, out = zero, make([]kernel.Value, len(sums[0]))
	for c := range out {
		out[c] = zero
	}
	for i, s := range scales {
		total = w.FMA(tails[i][1], s[0], total)
		for c := range out {
			out[c] = w.FMA(sums[i][c], s[0], out[c])
		}
	}
	return out, total
}
