package synth

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// program is a kernel that is not written yet, with what one dispatch of it
// needs. Numbers (sizes, strides, offsets) are parameters of the kernel, so that
// one kernel serves all shapes; where they do not fit the push constants they
// become constants of it.
type program struct {
	key    string // everything that body depends on, but for the target and nums
	local  uint32 // invocations of a workgroup
	index  scalar.Type
	bufs   []buffer
	nums   []int
	lits   []literal
	body   func(e *emitter) error
	groups int
	bytes  int64
	flops  int64
}

type buffer struct {
	ref    Ref
	elem   kernel.Elem
	pair   bool // an element is two of elem: the parts of a complex number
	access Access
	bytes  int64
}

// bufferOf is the buffer of elements of a type.
func bufferOf(r Ref, d ops.DType) buffer {
	return buffer{ref: r, elem: storage[d], pair: d.IsComplex()}
}

// parts is how many values an element is.
func (b *buffer) parts() int {
	if b.pair {
		return 2
	}
	return 1
}

// size is the bytes of an element.
func (b *buffer) size() int { return b.parts() * b.elem.Size() }

type literal struct {
	operand int
	as      ops.DType
}

// size is the bytes of a parameter that holds the literal, or of each of the two
// that hold a complex one.
func (l literal) size() int { return kernel.TypeSize(wide(l.as)) }

// emitter writes the body of a program. The numbers and literals of the program
// are values in it.
type emitter struct {
	*kernel.Builder
	t     *Target
	index scalar.Type
	local int
	nums  []kernel.Value
	lits  []kernel.Value
	bufs  []buffer
}

// num takes the next number.
func (e *emitter) num() kernel.Value {
	v := e.nums[0]
	e.nums = e.nums[1:]
	return v
}

// lit takes the next literal, which has n parts.
func (e *emitter) lit(n int) []kernel.Value {
	vs := e.lits[:n:n]
	e.lits = e.lits[n:]
	return vs
}

// int is a constant index.
func (e *emitter) int(n int) kernel.Value { return e.Int(e.index, n) }

// group returns the number of the workgroup. The grid is folded into three
// dimensions where one is too small for it.
func (e *emitter) group() kernel.Value {
	yz := e.Add(e.Builtin(kernel.GroupY), e.Mul(e.Builtin(kernel.GroupsY), e.Builtin(kernel.GroupZ)))
	return e.Convert(e.Add(e.Builtin(kernel.GroupX), e.Mul(e.Builtin(kernel.GroupsX), yz)), e.index)
}

// invocation returns the number of the invocation within its workgroup.
func (e *emitter) invocation() kernel.Value {
	return e.Convert(e.Builtin(kernel.LocalX), e.index)
}

// indexType is the type of indices below n.
func indexType(n int) scalar.Type {
	if n >= 1<<31 {
		return scalar.U64
	}
	return scalar.U32
}

func (t *Target) maxPush() int {
	if t.MaxPush == 0 {
		return 128
	}
	return t.MaxPush
}

// fold spreads a number of workgroups over the dimensions of a grid. The grid
// may have more than are asked for; kernels check.
func (t *Target) fold(groups int) ([3]uint32, error) {
	var lim [3]int
	for i, m := range t.MaxGroups {
		lim[i] = int(m)
		if m == 0 {
			lim[i] = 65535
		}
	}
	x := min(groups, lim[0])
	y := min((groups+x-1)/x, lim[1])
	z := (groups + x*y - 1) / (x * y)
	if z > lim[2] {
		return [3]uint32{}, unsupported("%d workgroups", groups)
	}
	return [3]uint32{uint32(x), uint32(y), uint32(z)}, nil
}

// check reports whether the device has what the buffers need.
func (t *Target) check(p *program) error {
	if p.index == scalar.U64 && !t.Int64 {
		return unsupported("more than 2^31 elements")
	}
	for _, b := range p.bufs {
		ok := true
		switch b.elem {
		case kernel.U8, kernel.I8, kernel.U16, kernel.I16:
			ok = t.narrow(b.elem) || b.access == Read
		case kernel.U64, kernel.I64:
			ok = t.Int64
		case kernel.F64:
			ok = t.Float64
		}
		if !ok {
			return unsupported("no %v in buffers", b.elem)
		}
		if !t.Addresses && t.MaxBinding > 0 && b.bytes > t.MaxBinding {
			return fmt.Errorf("%w %d bytes, they end at %d", errReach, b.bytes, t.MaxBinding)
		}
	}
	return nil
}

// narrow reports whether buffers may have elements of a narrow type. Where they
// may not, elements are cut out of words, which serves reading alone.
func (t *Target) narrow(e kernel.Elem) bool {
	switch e.Size() {
	case 1:
		return t.Storage8 && (t.Int8 || !t.Addresses)
	case 2:
		return t.Storage16 && (t.Int16 || !t.Addresses)
	}
	return true
}

// step compiles a program, or finds it compiled, and fills in one dispatch.
func (t *Target) step(p *program) (Step, error) {
	if err := t.check(p); err != nil {
		return Step{}, err
	}
	fixed := t.pushBytes(p, false) > t.maxPush()
	if fixed && t.pushBytes(p, true) > t.maxPush() {
		return Step{}, unsupported("%d bytes of push constants", t.pushBytes(p, true))
	}
	k, err := t.compiled(p, fixed)
	if err != nil {
		return Step{}, err
	}
	s := Step{Kernel: k, Push: make([]byte, k.PushBytes), Bytes: p.bytes, Flops: p.flops}
	if s.Grid, err = t.fold(p.groups); err != nil {
		return Step{}, err
	}
	for _, b := range p.bufs {
		s.Args = append(s.Args, Arg{Ref: b.ref, Access: b.access})
	}
	s.Lits = p.fill(s.Push, t.base(p), fixed)
	return s, nil
}

// fill writes the numbers to push constants, from at on, and says where the
// literals go.
func (p *program) fill(push []byte, at int, fixed bool) (lits []Lit) {
	if !fixed {
		at = putNums(push, at, p)
	}
	for _, l := range p.lits {
		size := l.size()
		at = (at + size - 1) / size * size
		lits = append(lits, Lit{l.operand, at, l.as})
		at += size * partsOf(l.as)
	}
	return lits
}

func putNums(push []byte, at int, p *program) int {
	for _, n := range p.nums {
		if p.index == scalar.U64 {
			binary.LittleEndian.PutUint64(push[at:], uint64(n))
			at += 8
			continue
		}
		binary.LittleEndian.PutUint32(push[at:], uint32(n))
		at += 4
	}
	return at
}

// base is where the parameters begin.
func (t *Target) base(p *program) int {
	if t.Addresses {
		return 8 * len(p.bufs)
	}
	return 0
}

// pushBytes is the size of the push constants, with or without the numbers.
func (t *Target) pushBytes(p *program, fixed bool) int {
	at := t.base(p)
	if !fixed {
		at += len(p.nums) * kernel.TypeSize(p.index)
	}
	for _, l := range p.lits {
		size := l.size()
		at = (at+size-1)/size*size + size*partsOf(l.as)
	}
	return (at + 3) / 4 * 4
}

// fullKey names the kernel among all kernels of all targets.
func (t *Target) fullKey(p *program, fixed bool) string {
	var b strings.Builder
	b.WriteString(p.key)
	fmt.Fprintf(&b, " local=%d index=%d", p.local, p.index)
	for _, f := range p.bufs {
		fmt.Fprintf(&b, " %v/%d", f.elem, f.access)
		if f.pair {
			b.WriteString("/pair")
		}
	}
	for _, l := range p.lits {
		fmt.Fprintf(&b, " =%v", l.as)
	}
	if fixed {
		fmt.Fprintf(&b, " nums=%v", p.nums)
	}
	for _, f := range []bool{t.CPU, t.Addresses, t.PreciseDiv, t.Subnormals, t.Exp2, t.Preserve32, t.Preserve64,
		t.RoundEven32, t.RoundEven64, t.Denorm32, t.Denorm64, t.Int64, t.Float64,
		t.narrow(kernel.U8), t.narrow(kernel.U16)} {
		if f {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}
