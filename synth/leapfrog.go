package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Density is a log density and its gradient as a program: of a position, a
// vector of f32 or f64, and data.
type Density struct {
	Region *ops.Region
	Data   []ops.Type
	name   string
}

// NewDensity names a density by its contents, text.
func NewDensity(r *ops.Region, data []ops.Type, text []byte) *Density {
	sum := sha256.Sum256(text)
	return &Density{r, data, hex.EncodeToString(sum[:16])}
}

// The operands of a leapfrog kernel, in order, each for all instances: position,
// momentum, gradient, the diagonal of the inverse mass matrix, one step size and
// one number of steps (u32) an instance; then the data. Its results are the
// positions, momenta and gradients after each step, and the log densities; an
// instance has room for as many rows as the longest takes steps.
const leapfrogOperands = 6

// leapfrogJob is a kernel that takes leapfrog steps of a density. A workgroup is
// an instance. What the density computes on its way lies in shared memory, a
// number an element; one invocation does all on processors.
type leapfrogJob struct {
	*Density
	num    ops.DType
	dim    int
	local  int
	maker  map[ops.ID]*ops.Instr
	types  map[ops.ID]ops.Type
	data   map[ops.ID]int // buffers
	phases []ops.ID       // what is computed into shared memory, in order
	at     map[ops.ID]int // and where it lies
	size   int            // numbers of shared memory
}

// maxLeapfrogLocal bounds a workgroup.
const maxLeapfrogLocal = 256

// LowerLeapfrog plans steps of instances of a density, rows at most each. The
// error wraps ErrUnsupported where a kernel cannot compute the density.
func LowerLeapfrog(d *Density, instances, rows int, t *Target) (*Plan, error) {
	j := &leapfrogJob{Density: d, num: d.Region.Params[0].Type.DType, dim: d.Region.Params[0].Type.Size(),
		maker: map[ops.ID]*ops.Instr{}, types: map[ops.ID]ops.Type{}, data: map[ops.ID]int{}, at: map[ops.ID]int{}}
	if err := j.survey(); err != nil {
		return nil, err
	}
	j.local = j.workgroup(t)
	shared := (j.size + j.scratch()) * j.num.Size()
	if t.SharedMemory > 0 && shared > t.SharedMemory {
		return nil, unsupported("%d bytes of shared memory, the device has %d", shared, t.SharedMemory)
	}
	return t.plan(nil, j.program(instances, rows))
}

// scratch is the shared memory in which invocations join what they folded.
func (j *leapfrogJob) scratch() int {
	if j.local == 1 {
		return 0
	}
	return j.local
}

// workgroup is a power of two that suits the largest of what is computed.
func (j *leapfrogJob) workgroup(t *Target) int {
	if t.CPU {
		return 1
	}
	most := j.dim
	for _, id := range j.phases {
		in := j.maker[id]
		most = max(most, in.Outs[0].Type.Size())
		if k := in.Op.Info().Kind; k == ops.Reduce {
			most = max(most, j.typeOf(in.Ins[0]).Size())
		}
	}
	n := 32
	for n < most && n < maxLeapfrogLocal {
		n *= 2
	}
	return n
}

// survey finds out what is computed into shared memory: what is folded, what the
// density gives, and what would be computed again for several that want it.
func (j *leapfrogJob) survey() error {
	r := j.Region
	for i, p := range r.Params {
		j.types[p.ID] = p.Type
		if i > 0 {
			j.data[p.ID] = leapfrogOperands + i - 1
		}
	}
	uses := map[ops.ID]int{}
	for i := range r.Body {
		in := &r.Body[i]
		if len(in.Outs) != 1 || len(in.Regions) > 0 {
			return unsupported("%v in a leapfrog kernel", in.Op)
		}
		j.maker[in.Outs[0].ID], j.types[in.Outs[0].ID] = in, in.Outs[0].Type
	}
	for i := len(r.Body) - 1; i >= 0; i-- {
		in := &r.Body[i]
		if id := in.Outs[0].ID; uses[id] == 0 && !j.given(id) {
			continue // nobody wants it
		}
		for _, o := range in.Ins {
			uses[o.ID]++
		}
	}
	cost := map[ops.ID]int{}
	j.size = 4 * j.dim // position, momentum, gradient, metric
	for i := range r.Body {
		in := &r.Body[i]
		id := in.Outs[0].ID
		if uses[id] == 0 && !j.given(id) {
			continue
		}
		if err := j.supported(in); err != nil {
			return err
		}
		c := costs(in)
		for _, o := range in.Ins {
			c += cost[o.ID]
		}
		if j.folds(in) || j.given(id) || uses[id] > 1 && c >= dearAgain && in.Outs[0].Type.DType == j.num {
			j.phases, j.at[id] = append(j.phases, id), j.size
			j.size += in.Outs[0].Type.Size()
			c = 1
		}
		cost[id] = c
	}
	return nil
}

// dearAgain is from which cost on a value is kept for those who want it again.
const dearAgain = 6

// costs estimates the work of an element.
func costs(in *ops.Instr) int {
	switch in.Op {
	case ops.Exp, ops.Log, ops.Log1p, ops.Expm1, ops.Sigmoid, ops.Tanh, ops.Pow, ops.Sin, ops.Cos, ops.Erf, ops.Erfc, ops.ErfInv:
		return 20
	case ops.Divide, ops.Sqrt, ops.Rsqrt:
		return 4
	}
	if in.Op.Info().Kind == ops.Pointwise {
		return 1
	}
	return 0
}

// given reports whether the density gives a value.
func (j *leapfrogJob) given(id ops.ID) bool {
	for _, o := range j.Region.Values {
		if o.Lit == nil && o.ID == id {
			return true
		}
	}
	return false
}

// folds reports whether elements of an instruction's result each take many of
// its operands'.
func (j *leapfrogJob) folds(in *ops.Instr) bool {
	k := in.Op.Info().Kind
	return k == ops.Reduce || k == ops.Contract || in.Op == ops.IndexedAdd
}

// supported reports whether a kernel can compute an instruction.
func (j *leapfrogJob) supported(in *ops.Instr) error {
	out := in.Outs[0].Type
	switch k := in.Op.Info().Kind; {
	case out.DType.IsComplex():
		return unsupported("%v", out.DType)
	case (j.folds(in) || j.given(in.Outs[0].ID)) && out.DType != j.num:
		return unsupported("%v of %v in a density of %v", in.Op, out.DType, j.num)
	case k == ops.Pointwise || k == ops.Reduce || k == ops.Contract:
		return nil
	}
	if _, ok := leapfrogViews[in.Op]; !ok {
		return unsupported("%v in a leapfrog kernel", in.Op)
	}
	if (in.Op == ops.Slice || in.Op == ops.PutSlice) && len(in.Attrs[0]) == 0 && len(out.Shape) > 0 {
		return unsupported("starts that are computed")
	}
	return nil
}

func (j *leapfrogJob) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return j.types[o.ID]
}

// program is the kernel with its buffers.
func (j *leapfrogJob) program(instances, rows int) *program {
	size := int64(j.num.Size())
	one := int64(instances*j.dim) * size
	p := &program{key: "leapfrog " + j.name, local: uint32(j.local), index: scalar.U32,
		nums: []int{rows}, groups: instances, body: j.write,
		flops: int64(instances) * int64(rows) * int64(j.work())}
	add := func(ref Ref, d ops.DType, access Access, bytes int64) {
		b := bufferOf(ref, d)
		b.access, b.bytes = access, bytes
		p.bufs = append(p.bufs, b)
		p.bytes += bytes
	}
	for i := range 4 {
		add(Ref{Operand, i}, j.num, Read, one)
	}
	add(Ref{Operand, 4}, j.num, Read, int64(instances)*size)
	add(Ref{Operand, 5}, ops.U32, Read, int64(instances)*4)
	for i, t := range j.Data {
		add(Ref{Operand, leapfrogOperands + i}, t.DType, Read, int64(t.Bytes()))
	}
	for i := range 3 {
		add(Ref{Result, i}, j.num, Write, one*int64(rows))
	}
	add(Ref{Result, 3}, j.num, Write, int64(instances*rows)*size)
	return p
}

// work estimates the operations of a step.
func (j *leapfrogJob) work() int {
	n := 0
	for _, in := range j.maker {
		w := in.Outs[0].Type.Size()
		if j.folds(in) {
			w = max(w, j.typeOf(in.Ins[0]).Size())
		}
		n += w * max(1, costs(in))
	}
	return n
}

// The places of the state in shared memory, in units of dim.
const (
	leapQ = iota
	leapP
	leapGrad
	leapMetric
)

// leapfrogWriter writes the kernel of a leapfrogJob.
type leapfrogWriter struct {
	*emitter
	job      *leapfrogJob
	mem      int // shared memory
	scratch  int
	me       kernel.Value
	instance kernel.Value
	rows     kernel.Value
	dirty    map[ops.ID]bool // stored since the last barrier
	memo     map[string]kernel.Value
	err      error
}

func (j *leapfrogJob) write(e *emitter) error {
	t := wide(j.num)
	w := &leapfrogWriter{emitter: e, job: j, mem: e.Shared(t, j.size), rows: e.num(),
		me: e.invocation(), instance: e.group()}
	if j.local > 1 {
		w.scratch = e.Shared(t, j.local)
	}
	w.run()
	return w.err
}

// each runs body for every i below n, dealt out to the invocations.
func (w *leapfrogWriter) each(n int, body func(i kernel.Value)) {
	w.repeat(w.me, w.int(n), w.int(w.local), func(i kernel.Value) {
		w.memo = map[string]kernel.Value{}
		body(i)
	})
}

func (w *leapfrogWriter) place(part int, i kernel.Value) kernel.Value {
	return w.Add(w.int(part*w.job.dim), i)
}

// run is the whole kernel.
func (w *leapfrogWriter) run() {
	d, t := w.job.dim, wide(w.job.num)
	base := w.Mul(w.instance, w.int(d))
	w.each(d, func(i kernel.Value) {
		for part := leapQ; part <= leapMetric; part++ {
			w.StoreShared(w.mem, w.place(part, i), w.Load(part, w.Add(base, i), 1)[0])
		}
	})
	eps := w.Load(4, w.instance, 1)[0]
	half := w.Mul(eps, w.Float(t, 0.5))
	steps := w.Load(5, w.instance, 1)[0]
	w.repeat(w.int(0), steps, w.int(1), func(k kernel.Value) {
		w.each(d, func(i kernel.Value) {
			grad := w.LoadShared(w.mem, w.place(leapGrad, i))
			p := w.Add(w.LoadShared(w.mem, w.place(leapP, i)), w.Mul(half, grad))
			q := w.LoadShared(w.mem, w.place(leapQ, i))
			move := w.Mul(w.Mul(eps, w.LoadShared(w.mem, w.place(leapMetric, i))), p)
			w.StoreShared(w.mem, w.place(leapP, i), p)
			w.StoreShared(w.mem, w.place(leapQ, i), w.Add(q, move))
		})
		w.barrier()
		w.density()
		w.barrier()
		w.row(k, half)
		w.barrier()
	})
}

// row ends a step: the second half of the momentum, and what is told.
func (w *leapfrogWriter) row(k, half kernel.Value) {
	j := w.job
	first := len(w.bufs) - 4
	row := w.Add(w.Mul(w.instance, w.rows), k)
	w.each(j.dim, func(i kernel.Value) {
		grad := w.element(j.Region.Values[1], []kernel.Value{i})
		p := w.Add(w.LoadShared(w.mem, w.place(leapP, i)), w.Mul(half, grad))
		w.StoreShared(w.mem, w.place(leapP, i), p)
		w.StoreShared(w.mem, w.place(leapGrad, i), grad)
		at := w.Add(w.Mul(row, w.int(j.dim)), i)
		w.Store(first, at, w.LoadShared(w.mem, w.place(leapQ, i)))
		w.Store(first+1, at, p)
		w.Store(first+2, at, grad)
	})
	w.then(w.same(w.me, w.int(0)), func() {
		w.memo = map[string]kernel.Value{}
		w.Store(first+3, row, w.element(j.Region.Values[0], nil))
	})
}

func (w *leapfrogWriter) barrier() {
	if w.local > 1 {
		w.Barrier()
	}
	w.dirty = map[ops.ID]bool{}
}

// density computes everything that lies in shared memory.
func (w *leapfrogWriter) density() {
	for _, id := range w.job.phases {
		in := w.job.maker[id]
		if w.waits(in) {
			w.barrier()
		}
		if w.job.folds(in) {
			w.fold(in)
		} else {
			w.keep(in)
		}
		w.dirty[id] = true
	}
}

// waits reports whether an instruction looks at what others have just stored.
func (w *leapfrogWriter) waits(in *ops.Instr) bool {
	for _, o := range in.Ins {
		if o.Lit != nil {
			continue
		}
		if w.dirty[o.ID] {
			return true
		}
		if _, kept := w.job.at[o.ID]; kept {
			continue
		}
		if m := w.job.maker[o.ID]; m != nil && w.waits(m) {
			return true
		}
	}
	return false
}

// keep computes the elements of a value into shared memory.
func (w *leapfrogWriter) keep(in *ops.Instr) {
	out := in.Outs[0]
	w.each(out.Type.Size(), func(i kernel.Value) {
		x := w.made(in, w.coordinates(i, out.Type.Shape))
		w.StoreShared(w.mem, w.Add(w.int(w.job.at[out.ID]), i), x)
	})
}

// coordinates splits a flat index.
func (w *leapfrogWriter) coordinates(i kernel.Value, s ops.Shape) []kernel.Value {
	idx := make([]kernel.Value, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		switch {
		case s[d] == 1:
			idx[d] = w.int(0)
		case product(s[:d]) == 1:
			idx[d], i = i, w.int(0)
		default:
			i, idx[d] = w.divide(i, w.int(s[d]))
		}
	}
	return idx
}

// flat joins coordinates.
func (w *leapfrogWriter) flat(idx []kernel.Value, s ops.Shape) kernel.Value {
	at := w.int(0)
	for d, stride := range s.Strides() {
		if s[d] > 1 {
			at = w.Add(at, w.Mul(idx[d], w.int(stride)))
		}
	}
	return at
}

// fail notes the first error.
func (w *leapfrogWriter) fail(err error) kernel.Value {
	if w.err == nil {
		w.err = err
	}
	return w.Float(wide(w.job.num), 0)
}

func (w *leapfrogWriter) key(id ops.ID, idx []kernel.Value) string { return fmt.Sprint(id, idx) }
