package codegen

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Program is a kernel that is not compiled yet, together with its dispatch. Numbers (sizes,
// strides, offsets) are parameters of the kernel, so that one kernel serves all shapes. If they
// do not fit the push constants they become constants of the kernel.
type Program struct {
	Key      string // all that Body depends on, except the target and Numbers
	Local    uint32 // invocations of a workgroup
	Index    scalar.Type
	Buffers  []Buffer
	Numbers  []int
	Literals []Literal
	Body     func(e *Emitter) error
	Groups   int
	Bytes    int64
	Flops    int64
	Host     lowering.Host // hand-written code for the host; nil where there is none

	// Early does what Body does before it needs the values that other stages of a chain hold for it, such as loads that
	// take long, and returns the rest; see Chain. It is nil where Body needs them at once.
	Early func(e *Emitter) (rest func() error)

	// Halves is Early of a stage beside another one that is Own, divided where Body first uses shared arrays: what two stages
	// load follows on without a wait. With early, it loads something at once.
	Halves func(e *Emitter, early bool) (first func() (second func() error))

	// Fit gives the number of workgroups of so many invocations, by which Body carries out the same; less than 1
	// where it cannot. It is nil where Body has workgroups of one size.
	Fit func(local int) (groups int)

	// Span gives how many elements of each result such a workgroup makes, in their order, where its invocations wait
	// for none of another subgroup. It is nil where they do, or the elements are not neighbours.
	Span func(local int) int

	// Ahead is Early of a stage of ChainRows: it loads what is in memory. It is nil where Body is not divided.
	Ahead func(e *Emitter) (rest func() error)

	// ByRows is Early of a program each of whose workgroups reads one row of the operands that others make. It gives the
	// number of the row, and what goes on; see ChainRows. It is nil elsewhere.
	ByRows func(e *Emitter) (row kernel.Value, early func() (rest func() error))
}

// Buffer is a buffer of a program.
type Buffer struct {
	Ref    lowering.Ref
	Elem   kernel.Elem
	Pair   bool // an element is two of Elem: the parts of a complex number
	Access lowering.Access
	Bytes  int64
}

// BufferOf is the buffer of elements of a type.
func BufferOf(r lowering.Ref, d ops.DType) Buffer {
	return Buffer{Ref: r, Elem: lowering.ElemOf[d], Pair: d.IsComplex()}
}

// Parts is the number of values of an element: 2 if it is complex.
func (b *Buffer) Parts() int {
	if b.Pair {
		return 2
	}
	return 1
}

// Size is the number of bytes of an element.
func (b *Buffer) Size() int { return b.Parts() * b.Elem.Size() }

// Literal is a literal operand that is a parameter, converted to type As.
type Literal struct {
	Operand int
	As      ops.DType
}

// size is the number of bytes of the parameter of a literal, or of each part of a complex one.
func (l Literal) size() int { return kernel.TypeSize(WideType(l.As)) }

// Emitter emits the body of a program. The numbers and literals of the program are its parameters.
type Emitter struct {
	*kernel.Builder
	Target    *lowering.Target
	IndexType scalar.Type
	Local     int
	nums      []kernel.Value
	Lits      []kernel.Value
	Buffers   []Buffer
	places    []int          // of buffers, where the emitter is that of a stage; see place
	begins    []kernel.Value // the elements of buffers that are the first of the shared arrays in their places; nil for 0

	repeats bool          // a workgroup carries out the workgroups of the program one after the other, or those of
	group   kernel.Value  // several programs: this one
	team    *team         // that carries the program out; nil for the whole workgroup
	shared  *sharedArrays // nil where the program has its own
}

// NextNumber returns the next number, in the order of Program.Numbers.
func (e *Emitter) NextNumber() kernel.Value {
	v := e.nums[0]
	e.nums = e.nums[1:]
	return v
}

// NextLiteral returns the n parts of the next literal.
func (e *Emitter) NextLiteral(n int) []kernel.Value {
	vs := e.Lits[:n:n]
	e.Lits = e.Lits[n:]
	return vs
}

// Index is a constant of the type of indices.
func (e *Emitter) Index(n int) kernel.Value { return e.Int(e.IndexType, n) }

// Group is the number of the workgroup. The grid has three dimensions, because one may be too
// small.
func (e *Emitter) Group() kernel.Value {
	if e.repeats {
		return e.group
	}
	yz := e.Add(e.Builtin(kernel.GroupY), e.Mul(e.Builtin(kernel.GroupsY), e.Builtin(kernel.GroupZ)))
	return e.Convert(e.Add(e.Builtin(kernel.GroupX), e.Mul(e.Builtin(kernel.GroupsX), yz)), e.IndexType)
}

// Invocation is the number of the invocation within its workgroup.
func (e *Emitter) Invocation() kernel.Value {
	if e.team != nil {
		return e.team.place
	}
	return e.Convert(e.Builtin(kernel.LocalX), e.IndexType)
}

// InSubgroups is Invocation where neighbours are in one subgroup of so many.
func (e *Emitter) InSubgroups(size int) kernel.Value {
	if e.team != nil {
		return e.team.place
	}
	subgroup := e.Convert(e.Builtin(kernel.Subgroup), e.IndexType)
	return e.Add(e.Mul(subgroup, e.Index(size)), e.Convert(e.Builtin(kernel.SubgroupInvocation), e.IndexType))
}

// IndexType is the type of indices below n: u32 or u64.
func IndexType(n int) scalar.Type {
	if n >= 1<<31 {
		return scalar.U64
	}
	return scalar.U32
}

// Check reports whether the device supports the buffers of a program.
func Check(t *lowering.Target, p *Program) error {
	if p.Index == scalar.U64 && !t.Int64 {
		return lowering.Unsupported("more than 2^31 elements")
	}
	for _, b := range p.Buffers {
		ok := true
		switch b.Elem {
		case kernel.U8, kernel.I8, kernel.U16, kernel.I16:
			ok = t.Narrow(b.Elem) || b.Access == lowering.Read
		case kernel.U64, kernel.I64:
			ok = t.Int64
		case kernel.F64:
			ok = t.Float64
		}
		if !ok {
			return lowering.Unsupported("no %v in buffers", b.Elem)
		}
		if !t.Addresses && t.MaxBinding > 0 && b.Bytes > t.MaxBinding {
			return fmt.Errorf("%w: %d of %d bytes", lowering.ErrBindingTooShort, b.Bytes, t.MaxBinding)
		}
	}
	return nil
}

// NewStep compiles a program, unless it is in the cache or the archive, and fills in its dispatch.
func NewStep(t *lowering.Target, p *Program) (lowering.Step, error) {
	if err := Check(t, p); err != nil {
		return lowering.Step{}, err
	}
	fixed := PushSize(t, p, false) > t.PushBytes()
	if fixed && PushSize(t, p, true) > t.PushBytes() {
		return lowering.Step{}, lowering.Unsupported("%d bytes of push constants", PushSize(t, p, true))
	}
	k, err := compile(t, p, fixed)
	if err != nil {
		return lowering.Step{}, err
	}
	s := lowering.Step{Kernel: k, Push: make([]byte, k.PushBytes), Bytes: p.Bytes, Flops: p.Flops}
	if s.Grid, err = t.FoldGrid(p.Groups); err != nil {
		return lowering.Step{}, err
	}
	for _, b := range p.Buffers {
		s.Args = append(s.Args, lowering.Arg{Ref: b.Ref, Access: b.Access})
	}
	s.Lits = p.Fill(s.Push, ParamsAt(t, p), fixed)
	return s, nil
}

// Fill writes the numbers into the push constants from offset at, unless they are constants of
// the kernel (fixed), and returns where the literals go.
func (p *Program) Fill(push []byte, at int, fixed bool) (lits []lowering.Lit) {
	if !fixed {
		at = putNums(push, at, p)
	}
	for _, l := range p.Literals {
		size := l.size()
		at = (at + size - 1) / size * size
		lits = append(lits, lowering.Lit{Operand: l.Operand, Offset: at, As: l.As})
		at += size * PartsOf(l.As)
	}
	return lits
}

func putNums(push []byte, at int, p *Program) int {
	for _, n := range p.Numbers {
		if p.Index == scalar.U64 {
			binary.LittleEndian.PutUint64(push[at:], uint64(n))
			at += 8
			continue
		}
		binary.LittleEndian.PutUint32(push[at:], uint32(n))
		at += 4
	}
	return at
}

// ParamsAt is the offset of the parameters in the push constants.
func ParamsAt(t *lowering.Target, p *Program) int {
	if t.Addresses {
		return 8 * len(p.Buffers)
	}
	return 0
}

// PushSize is the size of the push constants, without the numbers if they are fixed.
func PushSize(t *lowering.Target, p *Program, fixed bool) int {
	at := ParamsAt(t, p)
	if !fixed {
		at += len(p.Numbers) * kernel.TypeSize(p.Index)
	}
	for _, l := range p.Literals {
		size := l.size()
		at = (at+size-1)/size*size + size*PartsOf(l.As)
	}
	return (at + 3) / 4 * 4
}

// FullKey identifies the kernel of a program among the kernels of all targets.
func FullKey(t *lowering.Target, p *Program, fixed bool) string {
	var b strings.Builder
	b.WriteString(p.Key)
	fmt.Fprintf(&b, " local=%d index=%d", p.Local, p.Index)
	for _, f := range p.Buffers {
		fmt.Fprintf(&b, " %v/%d", f.Elem, f.Access)
		if f.Pair {
			b.WriteString("/pair")
		}
	}
	for _, l := range p.Literals {
		fmt.Fprintf(&b, " =%v", l.As)
	}
	if fixed {
		fmt.Fprintf(&b, " nums=%v", p.Numbers)
	}
	for _, f := range []bool{t.CPU, t.Addresses, t.PreciseDiv, t.Subnormals, t.Exp2, t.Halves, t.RoundHalf, t.Flushes64, t.Preserve32, t.Preserve64,
		t.RoundEven32, t.RoundEven64, t.Denorm32, t.Denorm64, t.Int64, t.Float64,
		t.Narrow(kernel.U8), t.Narrow(kernel.U16)} {
		if f {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// AddBuffer adds a buffer that is accessed below extent, at so many points.
func (p *Program) AddBuffer(b Buffer, extent, points int) {
	b.Access, b.Bytes = lowering.Read, int64(extent*b.Size())
	p.Buffers = append(p.Buffers, b)
	p.Bytes += min(b.Bytes, int64(points*b.Size()))
}

// NewPlan is the plan of programs that run one after the other, with temporaries of the given bytes.
func NewPlan(t *lowering.Target, temps []int64, programs ...*Program) (*lowering.Plan, error) {
	p := &lowering.Plan{Alias: -1, Temps: temps}
	for _, g := range programs {
		s, err := NewStep(t, g)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

// Add adds a scalar source to a program.
func (p *Program) Add(s *Source) {
	if s.Kind == FromLiteral {
		p.Literals = append(p.Literals, s.Lit)
		return
	}
	b := s.Buffer
	b.Access, b.Bytes = lowering.Read, int64(b.Elem.Size())
	p.Buffers = append(p.Buffers, b)
}
