package leapfrog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Density is a log density and its gradient as a program: of a position, a
// vector of f32 or f64, and data.
type Density struct {
	Region *ops.Region
	Data   []ops.Type
	name   string

	once     sync.Once
	straight *ops.Region // that a kernel computes
	Job      *job        // for any target
	err      error
}

// NewDensity names a density by its contents, text.
func NewDensity(r *ops.Region, data []ops.Type, text []byte) *Density {
	sum := sha256.Sum256(text)
	return &Density{Region: r, Data: data, name: hex.EncodeToString(sum[:16])}
}

// Leapfrog says which steps of a density a dispatch takes.
type Leapfrog struct {
	Instances int
	Rows      int  // room for so many steps of each instance
	Fresh     bool // the gradients at the positions are not given
}

// The operands of a leapfrog kernel, in order, each for all instances: position,
// momentum, gradient, the diagonal of the inverse mass matrix, one step size and
// one number of steps (u32) an instance; then the data. Its results are the
// positions, momenta and gradients after each step, and the log densities; an
// instance has room for as many rows as the longest takes steps.
const leapfrogOperands = 6

// job is a kernel that takes leapfrog steps of a density. A workgroup is an
// instance. Its invocations exchange values in shared memory, a number an element.
// On a processor one invocation computes everything.
type job struct {
	*Density
	num      ops.DType
	dim      int
	width    int // invocations of a workgroup, and parts into which a long fold falls
	producer map[ops.ID]*ops.Instr
	types    map[ops.ID]ops.Type
	data     map[ops.ID]int // buffers
	Stages   []stage
	at       map[ops.ID]int // where a value lies that is kept
	Size     int            // numbers of shared memory
	flops    int            // of a step, about
}

// The bounds of a workgroup. One of fewer invocations an instance, where there are
// more instances than a device runs at once, is no faster.
const (
	leastLeapfrogLocal = 32
	maxLeapfrogLocal   = 256
)

// LowerLeapfrog plans steps of instances of a density. The error wraps
// ErrUnsupported where a kernel cannot compute the density.
func LowerLeapfrog(d *Density, steps Leapfrog, t *lowering.Target) (*lowering.Plan, error) {
	d.once.Do(d.survey)
	if d.err != nil {
		return nil, d.err
	}
	j := *d.Job
	j.width = j.parts(t)
	shared := (j.Size + j.scratch()) * j.num.Size()
	if t.SharedMemory > 0 && shared > t.SharedMemory {
		return nil, lowering.Unsupported("%d bytes of shared memory, the device has %d", shared, t.SharedMemory)
	}
	p := j.program(steps)
	return t.WithBindings(func(t *lowering.Target) (*lowering.Plan, error) { return codegen.NewPlan(t, nil, p) })
}

// Work estimates the operations of a step that a kernel takes. The error wraps
// ErrUnsupported where none can.
func (d *Density) Work() (int, error) {
	d.once.Do(d.survey)
	return d.Job.flops, d.err
}

// survey decides once what a kernel of the density computes when. Passes come
// first: what a compiler makes of a density has starts in operands, and more.
func (d *Density) survey() {
	d.straight = d.Region
	if !slices.ContainsFunc(d.Region.Body, func(in ops.Instr) bool { return len(in.Regions) > 0 }) {
		d.straight = graph.Simplify(d.Region, graph.Options{})
	}
	q := d.straight.Params[0].Type
	d.Job = &job{Density: d, num: q.DType, dim: q.Size(),
		producer: map[ops.ID]*ops.Instr{}, types: map[ops.ID]ops.Type{}, data: map[ops.ID]int{}, at: map[ops.ID]int{}}
	d.err = d.Job.survey()
}

// parts is a power of two that suits the largest value that is computed. The order
// of a fold follows from it, and so it does not depend on how many instances there
// are.
func (j *job) parts(t *lowering.Target) int {
	if t.CPU {
		return 1
	}
	most := j.dim
	for _, s := range j.Stages {
		for _, in := range s.Alone {
			most = max(most, in.Outs[0].Type.Size())
			if j.long(in) {
				most = max(most, j.foldSize(in))
			}
		}
		for _, w := range s.Sweeps {
			most = max(most, w.n)
		}
	}
	n := leastLeapfrogLocal
	for n < most && n < maxLeapfrogLocal {
		n *= 2
	}
	return n
}

// scratch is the shared memory in which invocations join what they folded.
func (j *job) scratch() int {
	if j.width == 1 {
		return 0
	}
	most := 0
	for _, s := range j.Stages {
		for _, w := range s.Sweeps {
			most = max(most, w.Outs*sweepParts(j.width))
		}
		for _, in := range s.Alone {
			if j.long(in) {
				most = max(most, j.width)
			}
		}
	}
	return most
}

func (j *job) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return j.types[o.ID]
}

// program is the kernel with its buffers.
func (j *job) program(s Leapfrog) *codegen.Program {
	size := int64(j.num.Size())
	one := int64(s.Instances*j.dim) * size
	fresh := 0
	if s.Fresh {
		fresh = 1
	}
	p := &codegen.Program{Key: "leapfrog " + j.name, Local: uint32(j.width), Index: scalar.U32,
		Numbers: []int{s.Rows, fresh}, Groups: s.Instances, Body: j.write,
		Flops: int64(s.Instances) * int64(s.Rows+fresh) * int64(j.flops)}
	add := func(ref lowering.Ref, d ops.DType, access lowering.Access, bytes int64) {
		b := codegen.BufferOf(ref, d)
		b.Access, b.Bytes = access, bytes
		p.Buffers = append(p.Buffers, b)
		p.Bytes += bytes
	}
	for i := range 4 {
		add(lowering.Ref{Kind: lowering.Operand, Index: i}, j.num, lowering.Read, one)
	}
	add(lowering.Ref{Kind: lowering.Operand, Index: 4}, j.num, lowering.Read, int64(s.Instances)*size)
	add(lowering.Ref{Kind: lowering.Operand, Index: 5}, ops.U32, lowering.Read, int64(s.Instances)*4)
	for i, t := range j.Data {
		add(lowering.Ref{Kind: lowering.Operand, Index: leapfrogOperands + i}, t.DType, lowering.Read, int64(t.Bytes()))
	}
	for i := range 3 {
		add(lowering.Ref{Kind: lowering.Result, Index: i}, j.num, lowering.Write, one*int64(s.Rows))
	}
	add(lowering.Ref{Kind: lowering.Result, Index: 3}, j.num, lowering.Write, int64(s.Instances*s.Rows)*size)
	return p
}

// work estimates the operations of a step.
func (j *job) work() int {
	n := 0
	for _, in := range j.producer {
		w := in.Outs[0].Type.Size()
		if takesMany(in) {
			w = max(w, j.typeOf(in.Ins[0]).Size())
		}
		n += w * max(1, costs(in))
	}
	return n
}
