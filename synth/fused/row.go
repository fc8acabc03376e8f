package fused

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/reduction"
	"nxvk/synth/strided"
)

// rowsJob executes a fusion that reduces rows and computes on the elements of the same rows
// before, between and after the reductions: a softmax, a layer norm. On a GPU a workgroup keeps
// a row in registers (rowsWriter.shared). If the row is too long for that
// (rowsWriter.storeAgain), or if one invocation has the whole row (rowsWriter.solo), the row is
// read again for each reduction that depends on another one. Rows are folded in the order of
// reduction.Job.
type rowsJob struct {
	*reduction.Job // sources, sizes and order; finish has the buffers of the results alone
	fusion         *foldedFusion
	held           int   // fours of a part that are kept, from its first on; 0 where none is
	again          bool  // there are more, which are read again
	shares         int   // invocations that have a share of each of them
	exact          bool  // all invocations have the same number of fours
	short          int   // elements of a row that is less than a four, which one invocation keeps; else 0
	staged         int   // elements of a row whose wide results leave through shared memory; else 0
	still          []int // sources that are the same for all elements of a row
}

// needsRows reports whether a value is computed from elements of a row after the row has been
// folded.
func (f *foldedFusion) needsRows() bool {
	for k := range f.Outs {
		if f.wide(k) {
			return true
		}
	}
	for i, d := range f.depths() {
		if f.Exprs[i].Kind == fusion.ExprFold && d > 1 {
			return true
		}
	}
	return false
}

// wide reports whether result k has an element for each element that is folded.
func (f *foldedFusion) wide(k int) bool {
	return f.fusion.Outs[k].Type.Size() > strided.Product(f.Dims[:f.Kept])
}

// depths is, for each expression, the length of the longest chain of reductions that it depends
// on, itself included.
func (f *foldedFusion) depths() []int {
	ds := make([]int, len(f.Exprs))
	for i := range f.Exprs {
		for _, a := range f.Exprs[i].Args {
			ds[i] = max(ds[i], ds[a])
		}
		if f.Exprs[i].Kind == fusion.ExprFold {
			ds[i]++
		}
	}
	return ds
}

// inRows is the job that carries out a fusion in rows.
func (f *foldedFusion) inRows(held int) *rowsJob {
	j := &rowsJob{fusion: f, held: held, Job: &reduction.Job{Key: f.key(), Layout: f.lie,
		Kept: f.Dims[:f.Kept], Reduced: f.Dims[f.Kept:]}}
	for _, i := range f.folds {
		j.Folds = append(j.Folds, f.operator(i))
	}
	for s := range f.Sources {
		r := f.reduceSource(s)
		if r.Still || r.Kind == codegen.FromLiteral {
			j.still = append(j.still, s)
		}
		j.Ins = append(j.Ins, r)
	}
	for i, o := range f.fusion.Outs {
		j.Finish.Outs = append(j.Finish.Outs, codegen.BufferOf(lowering.Ref{Kind: lowering.Result, Index: i}, o.Type.DType))
	}
	return j
}

// plan makes the job one kernel.
func (j *rowsJob) program(t *lowering.Target) *codegen.Program {
	j.Group = 1
	j.Order = strided.ScheduleOf(t, &j.Layout)
	j.Last = true
	j.Arrange()
	n := strided.Product(j.Reduced)
	round := strided.Components * j.Order.Parts
	j.exact = n%round == 0
	if n%strided.Components != 0 {
		for i := range j.Ins { // no four of a row is aligned for one load
			if j.Ins[i].Way == reduction.Fours {
				j.Ins[i].Way = reduction.Singly
			}
		}
	}
	if n < strided.Components && j.Order.Tree && j.Order.Parts == 1 {
		j.short = n
	}
	j.share(t)
	j.stage(t)
	p := j.Job.Program(t)
	p.Local *= uint32(j.shares)
	k := strided.Product(j.Kept)
	p.Body = j.write
	p.Flops = int64(n*k) * flops(j.fusion.DAG)
	for i := range j.Finish.Outs {
		b := &p.Buffers[len(p.Buffers)-len(j.Finish.Outs)+i]
		if j.fusion.wide(i) {
			p.Bytes += int64((n - 1) * k * b.Size())
			b.Bytes = int64(n * k * b.Size())
		}
	}
	rest := 0 // elements after whole steps
	if !j.Order.Tree {
		p.Groups, rest = (k+int(p.Local)-1)/int(p.Local), n%round
		p.Numbers[0] = k
	}
	p.Key = fmt.Sprintf("rows held=%d again=%v shares=%d exact=%v short=%d staged=%d parts=%d whole=%v rest=%d subgroup=%d %s", j.held, j.again, j.shares, j.exact, j.short,
		j.staged, j.Order.Parts, n%strided.Components == 0, rest, j.subgroupSize(t), p.Key)
	if line := j.Order.Parts * j.shares; j.Order.Tree && j.staged == 0 {
		p.Fit = func(local int) int {
			if local%line != 0 || j.subgroupSize(t) > 0 && local%j.subgroupSize(t) != 0 {
				return 0
			}
			return ceil(k, local/line)
		}
		if !j.narrows() && (line == 1 || j.subgroupSize(t) > 0) {
			p.Span = func(local int) int { return local / line * n }
			p.Ahead = j.ahead
		}
	}
	return p
}

// narrows reports whether a result has one element a row.
func (j *rowsJob) narrows() bool {
	for k := range j.Finish.Outs {
		if !j.fusion.wide(k) {
			return true
		}
	}
	return false
}

func ceil(n, unit int) int { return (n + unit - 1) / unit }

// share decides how many fours each invocation keeps. If the parts take all invocations that a
// workgroup may have, registers are few, and the rest of the row is read again.
func (j *rowsJob) share(t *lowering.Target) {
	j.shares = 1
	if !j.Order.Tree {
		return
	}
	wide, sources := j.loaded()
	rounds := j.Order.Rounds(strided.Product(j.Reduced))
	switch {
	case j.Order.Parts > strided.RowThreads:
		j.held = min(rounds, max(1, strided.LongHeld/(wide*sources)))
	case j.held*wide >= strided.LongHeld && t.MaxInvocations >= 2*j.Order.Local:
		j.shares = 2
	}
	j.again = rounds > j.held
}

// loaded returns the maximum of registers that an element of the row takes, and the number of
// sources that are loaded for it.
func (j *rowsJob) loaded() (wide, sources int) {
	wide, sources = 1, 0
	for i := range j.fusion.Exprs {
		x := &j.fusion.Exprs[i]
		if !x.Full {
			continue
		}
		wide = max(wide, x.Type.Wide().Size()/4)
		if x.Kind == fusion.ExprSource && j.fusion.Sources[x.Source].Kind == codegen.FromBuffer {
			sources++
		}
	}
	return wide, max(sources, 1)
}
