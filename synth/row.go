package synth

import "fmt"

// rowsJob carries out a unit whose reductions fold rows and whose operations look
// at the elements of the same rows before, between and after: a softmax, a layer
// norm. On a GPU the invocations that join the parts of a row keep what they have
// loaded and computed of it; see rowsWriter.shared. Where one invocation has all parts of
// the row it goes through the row again for each reduction that waits for
// another; see rowsWriter.solo. The order in which a row is folded is that of reduceJob.
type rowsJob struct {
	*reduceJob // sources, sizes and order; finish has the buffers of the results alone
	unit       *foldedUnit
	held       int   // fours of a part that are kept; 0 where none is
	shares     int   // invocations that have a share of each of them
	exact      bool  // all invocations have the same number of fours
	still      []int // sources that are the same for all elements of a row
}

// The longest rows are kept by this many fours a part; two invocations share those
// of long ones, or there are too few at a time for a GPU to have others while one
// waits. Where there are few rows, only short ones leave a GPU as busy as kernels
// that look at elements would. An invocation that has a row to itself has at most so
// many parts of it.
const (
	maxHeld  = 16
	longHeld = 8
	fewHeld  = 4
	fewRows  = 8
	maxSolo  = 8
)

// rows says how rows can be carried out in one kernel: in how many fours an
// invocation keeps, or 0 where it keeps none.
func (t *Target) rows(lie *reduceShape) (held int, ok bool) {
	if !lie.rows() {
		return 0, false
	}
	s := t.schedule(lie)
	if !s.tree {
		return 0, s.parts <= maxSolo
	}
	n := (product(lie.reduced) + lanes*s.parts - 1) / (lanes * s.parts)
	return n, s.chunks == 1 && n <= maxHeld && (n <= fewHeld || product(lie.kept) >= fewRows)
}

// needsRows reports whether something looks at the elements of a row when it has
// been folded, or at what they are made of.
func (f *foldedUnit) needsRows() bool {
	for k := range f.outs {
		if f.wide(k) {
			return true
		}
	}
	for i, d := range f.depths() {
		if f.exprs[i].kind == exprFold && d > 1 {
			return true
		}
	}
	return false
}

// wide reports whether result k has an element for each that is folded.
func (f *foldedUnit) wide(k int) bool {
	return f.unit.Outs[k].Type.Size() > product(f.dims[:f.kept])
}

// depths says how many reductions there are in front of each expression, one
// after the other, itself included.
func (f *foldedUnit) depths() []int {
	ds := make([]int, len(f.exprs))
	for i := range f.exprs {
		for _, a := range f.exprs[i].args {
			ds[i] = max(ds[i], ds[a])
		}
		if f.exprs[i].kind == exprFold {
			ds[i]++
		}
	}
	return ds
}

// inRows is the job that carries out a unit in rows.
func (f *foldedUnit) inRows(held int) *rowsJob {
	j := &rowsJob{unit: f, held: held, reduceJob: &reduceJob{key: f.key(), lie: f.lie,
		kept: f.dims[:f.kept], reduced: f.dims[f.kept:]}}
	for _, i := range f.folds {
		j.folds = append(j.folds, f.operator(i))
	}
	for s := range f.sources {
		r := f.reduceSource(s)
		if r.still || r.kind == fromLiteral {
			j.still = append(j.still, s)
		}
		j.ins = append(j.ins, r)
	}
	for i, o := range f.unit.Outs {
		j.finish.outs = append(j.finish.outs, bufferOf(Ref{Result, i}, o.Type.DType))
	}
	return j
}

// plan makes the job one kernel.
func (j *rowsJob) plan(t *Target) (*Plan, error) {
	j.group = 1
	j.order = t.schedule(&j.lie)
	j.last = true
	j.arrange()
	n := product(j.reduced)
	unit := lanes * j.order.parts
	j.exact = n%unit == 0
	if n%lanes != 0 {
		for i := range j.ins { // no four of a row begins where one can be loaded
			if j.ins[i].way == fours {
				j.ins[i].way = singly
			}
		}
	}
	if j.shares = 1; j.held >= longHeld && t.MaxInvocations >= 2*j.order.local {
		j.shares = 2
	}
	p := j.reduceJob.program(t)
	p.local *= uint32(j.shares)
	k := product(j.kept)
	p.body = j.write
	p.flops = int64(n*k) * j.unit.flops()
	for i := range j.finish.outs {
		b := &p.bufs[len(p.bufs)-len(j.finish.outs)+i]
		if j.unit.wide(i) {
			p.bytes += int64((n - 1) * k * b.size())
			b.bytes = int64(n * k * b.size())
		}
	}
	if !j.order.tree {
		p.groups = (k + int(p.local) - 1) / int(p.local)
		p.nums[0] = k
	}
	p.key = fmt.Sprintf("rows held=%d shares=%d exact=%v parts=%d whole=%v %s", j.held, j.shares, j.exact, j.order.parts, n%lanes == 0, p.key)
	return t.plan(nil, p)
}
