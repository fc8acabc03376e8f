package synth

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// source is one input of a mapJob: a buffer, a literal, or the number that its
// view gives for each point.
type source struct {
	view
	kind   sourceKind
	buffer buffer
	lit    literal
	shifts []shift
}

// shift moves a view by an index that another source has: stride elements for
// each one of it. The index is brought into [0, limit] first, so that no value of
// it leaves the buffer.
type shift struct {
	from          int // the source, which comes earlier
	limit, stride int
}

type sourceKind uint8

const (
	fromBuffer sourceKind = iota
	fromLiteral
	fromIndex // the index itself, of the index type of the program
)

// parts is how many values the source gives for a point.
func (s *source) parts() int {
	switch s.kind {
	case fromBuffer:
		return s.buffer.parts()
	case fromLiteral:
		return partsOf(s.lit.as)
	}
	return 1
}

// mapJob computes every point of an iteration space on its own: all pointwise
// and movement operations. It comes in three shapes, of which the best that the
// strides allow is taken:
//
//	flat: one dimension, neighbours side by side, a group a step, any length
//	rows: as flat along the innermost dimension, which the group divides; the
//	      others are decoded once for the group
//	any:  one point a step, every coordinate decoded
//
// A group is four neighbours; where elements are large, a GPU is faster with as
// many as sixteen bytes hold.
type mapJob struct {
	key  string // what body computes
	dims []int
	ins  []source
	out  view
	to   buffer
	// outShifts are of the output.
	outShifts []shift
	// body gives the stored form of a point of the output from what the
	// sources give, as loaded: of a complex element both parts.
	body func(e *emitter, xs []kernel.Value) (kernel.Value, error)
	// also are more outputs, which lie as the first does; bodies, which is used
	// instead of body where it is not nil, gives a point of each, of a complex
	// output both parts; groups is bodies for all points of a step.
	also   []buffer
	bodies func(e *emitter, xs []kernel.Value) ([]kernel.Value, error)
	groups func(e *emitter, xs [][]kernel.Value) ([][]kernel.Value, error)

	flops int64
	long  bool // body is long: a point a step, or drivers compile it for long
	group int  // points a step: 4, 2 or 1
	exact bool // the points are a multiple of the group
}

// The sizes of workgroups and the steps of an invocation, by profile. A GPU is
// fastest with one step of four elements an invocation; a processor with many.
const (
	gpuLocal = 256
	cpuLocal = 16
	cpuSteps = 8
	cpuFlat  = 256 // points below which a flat job is not worth fours
)

func (t *Target) mapShape(group int) (local, steps int) {
	switch {
	case t.CPU:
		return cpuLocal, cpuSteps
	case group == 1:
		return gpuLocal, 4
	}
	return gpuLocal, 1
}

// programs makes the job a program, or two: a processor runs both sides of a
// branch, so there the last few points of a flat job are a program of their own.
func (j *mapJob) programs(t *Target) []*program {
	views := []*view{&j.out}
	for i := range j.ins {
		if j.ins[i].kind != fromLiteral {
			views = append(views, &j.ins[i].view)
		}
	}
	j.dims = collapse(j.dims, views)
	j.group = j.choose(t)
	n := j.dims[len(j.dims)-1]
	if rest := n % j.group; t.CPU && rest > 0 {
		if n < cpuFlat {
			j.group = 1
			return []*program{j.program(t)}
		}
		body, tail := j.cut(0, n-rest), j.cut(n-rest, rest)
		tail.group = 1
		return []*program{body.program(t), tail.program(t)}
	}
	return []*program{j.program(t)}
}

// cut is the part of a flat job from a point on.
func (j *mapJob) cut(first, n int) *mapJob {
	c := *j
	c.dims, c.ins = []int{n}, slices.Clone(j.ins)
	c.out.offset += first * c.out.strides[0]
	for i := range c.ins {
		if c.ins[i].kind != fromLiteral {
			c.ins[i].offset += first * c.ins[i].strides[0]
		}
	}
	return &c
}

func (j *mapJob) program(t *Target) *program {
	j.exact = t.CPU || len(j.dims) > 1
	points := product(j.dims)
	units := (points + j.group - 1) / j.group
	p := &program{index: indexType(points), flops: j.flops * int64(points), body: j.write}
	j.addBuffers(p, points)
	local, steps := t.mapShape(j.group)
	p.local = uint32(local)
	p.groups = (units + local*steps - 1) / (local * steps)
	p.key = j.describe(steps)
	p.nums = j.numbers(units)
	return p
}

// addBuffers lists the buffers, the output last, and the literals.
func (j *mapJob) addBuffers(p *program, points int) {
	reach := points
	add := func(b buffer, v *view, shifts []shift) {
		extent := v.extent(j.dims) + farthest(shifts)
		b.bytes = int64(extent * b.size())
		p.bufs = append(p.bufs, b)
		p.bytes += min(b.bytes, int64(points*b.size()))
		reach = max(reach, extent)
	}
	for i := range j.ins {
		s := &j.ins[i]
		switch s.kind {
		case fromBuffer:
			s.buffer.access = Read
			add(s.buffer, &s.view, s.shifts)
		case fromLiteral:
			p.lits = append(p.lits, s.lit)
		case fromIndex:
			reach = max(reach, s.extent(j.dims)+farthest(s.shifts))
		}
	}
	for _, to := range append([]buffer{j.to}, j.also...) {
		to.access = Write
		add(to, &j.out, j.outShifts)
	}
	p.index = indexType(reach)
}

// wants returns the group of a job whose strides allow any.
func (j *mapJob) wants(t *Target) int {
	if t.CPU {
		return 4
	}
	widest := j.to.size()
	for i := range j.also {
		widest = max(widest, j.also[i].size())
	}
	for i := range j.ins {
		if s := &j.ins[i]; s.kind == fromBuffer {
			if !t.narrow(s.buffer.elem) {
				return 4 // cut out of words
			}
			widest = max(widest, s.buffer.size())
		}
	}
	return min(4, 16/widest)
}

// choose returns the group: 1 where neighbours cannot be loaded and stored at
// once.
func (j *mapJob) choose(t *Target) int {
	r, g := len(j.dims)-1, j.wants(t)
	if j.long || j.dims[r] < g || (r > 0 && j.dims[r]%g != 0) || !vectored(&j.out, r, g) || j.out.strides[r] != 1 {
		return 1
	}
	if !j.together(&j.out, j.outShifts, g) {
		return 1
	}
	for i := range j.ins {
		s := &j.ins[i]
		if s.kind == fromLiteral {
			continue
		}
		if s.kind == fromBuffer && s.strides[r] != 0 && !vectored(&s.view, r, g) || !j.together(&s.view, s.shifts, g) {
			return 1
		}
	}
	return g
}

// together reports whether the neighbours of a group are shifted as one.
func (j *mapJob) together(v *view, shifts []shift, g int) bool {
	r := len(j.dims) - 1
	for _, h := range shifts {
		index := &j.ins[h.from]
		if index.kind != fromLiteral && index.strides[r] != 0 || v.strides[r] != 0 && h.stride%g != 0 {
			return false
		}
	}
	return true
}

// farthest is how far shifts move a view at most.
func farthest(shifts []shift) int {
	n := 0
	for _, h := range shifts {
		n += h.limit * h.stride
	}
	return n
}

// vectored reports whether the rows of a view are dense and begin at multiples
// of a group.
func vectored(v *view, r, group int) bool {
	if v.strides[r] != 1 || v.offset%group != 0 {
		return false
	}
	for _, s := range v.strides[:r] {
		if s%group != 0 {
			return false
		}
	}
	return true
}

// describe is the key of the program.
func (j *mapJob) describe(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "map %s rank=%d group=%d steps=%d", j.key, len(j.dims), j.group, steps)
	for i := range j.ins {
		s := &j.ins[i]
		switch s.kind {
		case fromBuffer:
			fmt.Fprintf(&b, " buffer%c", j.inner(&s.view))
		case fromLiteral:
			b.WriteString(" literal")
		case fromIndex:
			b.WriteString(" index")
		}
		describeShifts(&b, s.shifts)
	}
	fmt.Fprintf(&b, " out%c", j.inner(&j.out))
	describeShifts(&b, j.outShifts)
	return b.String()
}

func describeShifts(b *strings.Builder, shifts []shift) {
	for _, h := range shifts {
		fmt.Fprintf(b, " by%d", h.from)
	}
}

// inner tells how the innermost dimension of a view is walked, as far as the
// code depends on it.
func (j *mapJob) inner(v *view) byte {
	switch v.strides[len(j.dims)-1] {
	case 0:
		return '0'
	case 1:
		return '1'
	}
	return 'n'
}

// perGroup says whether a view counts in groups of j.group elements.
func (j *mapJob) perGroup(v *view, isIndex bool) bool {
	return j.group > 1 && !isIndex && v.strides[len(j.dims)-1] == 1
}

// numbers lists the parameters in the order in which write takes them.
func (j *mapJob) numbers(units int) []int {
	r := len(j.dims) - 1
	nums := []int{units, j.dims[r]}
	nums = append(nums, j.dims[min(1, r):r]...)
	if r > 0 {
		nums[1] = j.dims[r] / j.group
	}
	view := func(v *view, shifts []shift, isIndex bool) {
		unit := 1
		if j.perGroup(v, isIndex) {
			unit = j.group
		}
		nums = append(nums, v.offset/unit)
		for _, s := range v.strides[:r] {
			nums = append(nums, s/unit)
		}
		if s := v.strides[r]; isIndex || (s != 0 && s != 1) {
			nums = append(nums, s)
		}
		for _, h := range shifts {
			nums = append(nums, h.limit, h.stride/unit)
		}
	}
	for i := range j.ins {
		if j.ins[i].kind != fromLiteral {
			view(&j.ins[i].view, j.ins[i].shifts, j.ins[i].kind == fromIndex)
		}
	}
	view(&j.out, j.outShifts, false)
	return nums
}

// place is a view in a kernel.
type place struct {
	offset  kernel.Value
	outer   []kernel.Value
	inner   int          // 0 or 1, or -1 where stride has it
	stride  kernel.Value // of the innermost dimension
	grouped bool
	shifts  []shiftBy
}

// shiftBy is a shift in a kernel.
type shiftBy struct {
	from          int
	limit, stride kernel.Value
}

func (j *mapJob) place(e *emitter, v *view, shifts []shift, isIndex bool) place {
	r := len(j.dims) - 1
	p := place{offset: e.num(), inner: v.strides[r], grouped: j.perGroup(v, isIndex)}
	for range r {
		p.outer = append(p.outer, e.num())
	}
	if isIndex || (p.inner != 0 && p.inner != 1) {
		p.inner, p.stride = -1, e.num()
	}
	for _, h := range shifts {
		p.shifts = append(p.shifts, shiftBy{h.from, e.num(), e.num()})
	}
	return p
}

// values gives, for the points of a step, the stored form of every output, both
// parts of complex ones.
func (j *mapJob) values(e *emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
	if j.groups != nil {
		return j.groups(e, xs)
	}
	out := make([][]kernel.Value, len(xs))
	for i := range xs {
		var err error
		if j.bodies != nil {
			out[i], err = j.bodies(e, xs[i])
		} else {
			out[i] = make([]kernel.Value, 1)
			out[i][0], err = j.body(e, xs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write is the body of the kernel.
func (j *mapJob) write(e *emitter) error {
	w := &mapWriter{emitter: e, job: j, units: e.num(), inner: e.num()}
	for range len(j.dims) - 2 {
		w.dims = append(w.dims, e.num())
	}
	for i := range j.ins {
		s := &j.ins[i]
		w.places = append(w.places, place{})
		if s.kind != fromLiteral {
			w.places[i] = j.place(e, &s.view, s.shifts, s.kind == fromIndex)
		}
	}
	w.out = j.place(e, &j.out, j.outShifts, false)
	w.lits = make([][]kernel.Value, len(j.ins))
	for i := range j.ins {
		if j.ins[i].kind == fromLiteral {
			w.lits[i] = e.lit(j.ins[i].parts())
		}
	}
	_, steps := e.t.mapShape(j.group)
	first := e.Add(e.Mul(e.group(), e.int(e.local*steps)), e.invocation())
	var err error
	unit := func(u kernel.Value) {
		e.If(e.Compare(scalar.Lt, u, w.units), func() []kernel.Value {
			err = w.unit(u)
			return nil
		}, nil)
	}
	if steps == 1 {
		unit(first)
		return err
	}
	e.Loop(e.int(0), e.int(steps), e.int(1), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		unit(e.Add(first, e.Mul(i, e.int(e.local))))
		return nil
	})
	return err
}
