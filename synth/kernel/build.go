package kernel

import (
	"math"
	"slices"
	"sync"

	"nxvk/synth/scalar"
)

// Builder makes a kernel. Instructions go to the innermost open block; the
// callbacks of If and Loop fill theirs. A primitive operation that has been
// applied to the same values is not applied again.
type Builder struct {
	k       *Kernel
	consts  map[constKey]Value
	heads   map[int]Value    // builtins
	bits    map[Value]uint64 // of constants
	pairs   [][2]Value       // complex numbers
	twofold map[int]bool     // shared arrays of them
	free    []Value          // room for lists of operands and results
	facts   []facts          // of all values
	*scratch
}

// scratch is what a Builder needs while it builds, kept for the next one.
type scratch struct {
	open []Inst  // of the open blocks, outer ones first
	done applied // in them
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

type constKey struct {
	t    scalar.Type
	bits uint64
}

// NewBuilder starts a kernel whose workgroups have the given size.
func NewBuilder(name string, local [3]uint32) *Builder {
	return &Builder{k: &Kernel{Name: name, Local: local}, scratch: scratches.Get().(*scratch),
		consts: map[constKey]Value{}, heads: map[int]Value{}, bits: map[Value]uint64{}, twofold: map[int]bool{}}
}

// Kernel returns the kernel, which is finished: nothing can be added to it.
func (b *Builder) Kernel() *Kernel {
	if b.scratch == nil {
		return b.k
	}
	b.k.Body.Insts = b.closed(0)
	b.done.cut(0)
	scratches.Put(b.scratch)
	b.scratch = nil
	return b.k
}

// closed takes the instructions of the innermost open block, which began at from.
func (b *Builder) closed(from int) []Inst {
	if len(b.open) == from {
		return nil
	}
	insts := slices.Clone(b.open[from:])
	clear(b.open[from:])
	b.open = b.open[:from]
	return insts
}

// Type returns the type of a value.
func (b *Builder) Type(v Value) scalar.Type {
	if IsPair(v) {
		re, _ := b.Parts(v)
		return pairType(b.Type(re))
	}
	return b.k.Types[v]
}

func (b *Builder) value(t scalar.Type) Value {
	b.k.Types, b.facts = append(b.k.Types, t), append(b.facts, 0)
	return Value(len(b.k.Types) - 1)
}

func (b *Builder) head(in Inst, t scalar.Type) Value {
	v := b.value(t)
	in.Res = b.list(v)
	b.k.Head = append(b.k.Head, in)
	return v
}

func (b *Builder) emit(in Inst, types ...scalar.Type) []Value {
	for _, t := range types {
		in.Res = append(in.Res, b.value(t))
	}
	b.open = append(b.open, in)
	return slices.Clone(in.Res)
}

// Buffer declares the next buffer.
func (b *Builder) Buffer(e Elem, read, write bool) int {
	b.k.Buffers = append(b.k.Buffers, Buffer{e, read, write})
	return len(b.k.Buffers) - 1
}

// Param declares the next parameter at the next offset that fits it.
func (b *Builder) Param(t scalar.Type) Value {
	size := TypeSize(t)
	off := (b.k.ParamBytes() + size - 1) / size * size
	b.k.Params = append(b.k.Params, Param{t, off})
	return b.head(Inst{Op: ParamOf, Index: len(b.k.Params) - 1}, t)
}

// Offset returns where parameter i lies, in bytes from the first.
func (b *Builder) Offset(i int) int { return b.k.Params[i].Offset }

// Shared declares an array of the workgroup.
func (b *Builder) Shared(t scalar.Type, n int) int {
	if part := t.Part(); part != t {
		first := b.Shared(part, n)
		b.Shared(part, n)
		b.twofold[first] = true
		return first
	}
	b.k.Shared = append(b.k.Shared, Shared{t, n})
	return len(b.k.Shared) - 1
}

// Builtin returns a builtin of the invocation.
func (b *Builder) Builtin(i int) Value {
	v, ok := b.heads[i]
	if !ok {
		v = b.head(Inst{Op: Builtin, Index: i}, scalar.U32)
		b.heads[i] = v
	}
	return v
}

// Const returns the constant with the given bits.
func (b *Builder) Const(t scalar.Type, bits uint64) Value {
	bits = clip(t, bits)
	key := constKey{t, bits}
	v, ok := b.consts[key]
	if !ok {
		v = b.head(Inst{Op: Const, Bits: bits}, t)
		b.consts[key], b.bits[v] = v, bits
		b.knowConst(v, t, bits)
	}
	return v
}

// Int returns an integer constant of an integer type.
func (b *Builder) Int(t scalar.Type, n int) Value { return b.Const(t, uint64(n)) }

// Float returns a floating-point constant, rounded to the type.
func (b *Builder) Float(t scalar.Type, x float64) Value {
	if part := t.Part(); part != t {
		return b.Pair(b.Float(part, x), b.Float(part, 0))
	}
	if t == scalar.F32 {
		return b.Const(t, uint64(math.Float32bits(float32(x))))
	}
	return b.Const(t, math.Float64bits(x))
}

// IsConst reports whether the value is a constant, and which.
func (b *Builder) IsConst(v Value) (uint64, bool) {
	bits, ok := b.bits[v]
	return bits, ok
}

// list is a copy of values that lives as long as the kernel.
func (b *Builder) list(vs ...Value) []Value {
	if len(b.free) < len(vs) {
		b.free = make([]Value, max(1024, len(vs)))
	}
	l := b.free[:len(vs):len(vs)]
	b.free = b.free[len(vs):]
	copy(l, vs)
	return l
}

// Prim applies a primitive operation that gives a value of type t.
func (b *Builder) Prim(op scalar.Op, t scalar.Type, args ...Value) Value {
	if t.Part() != t || slices.ContainsFunc(args, IsPair) {
		return b.complex(op, t, args)
	}
	key := primKey{op, t, [3]Value{-1, -1, -1}}
	copy(key.args[:], args)
	known, slot, ok := b.done.get(&key)
	if ok {
		return known
	}
	v := b.value(t)
	b.open = append(b.open, Inst{Op: Prim, Prim: op, Args: b.list(args...), Res: b.list(v)})
	b.done.add(&key, slot, v)
	if t == scalar.F32 || t == scalar.U32 {
		b.know(v, b.learn(op, t, args))
	}
	return v
}

// Load reads n consecutive elements; index counts groups of n, which are 1, 2 or 4, or
// as many as 8 and 16 bytes hold.
func (b *Builder) Load(buf int, index Value, n int) []Value {
	types := make([]scalar.Type, n)
	for i := range types {
		types[i] = b.k.Buffers[buf].Elem.Type()
	}
	return b.emit(Inst{Op: Load, Index: buf, Args: []Value{index}}, types...)
}

// LoadWord reads a word of 32 bits of a buffer of any elements; index counts words.
func (b *Builder) LoadWord(buf int, index Value) Value {
	return b.emit(Inst{Op: LoadWord, Index: buf, Args: []Value{index}}, scalar.U32)[0]
}

// Store writes consecutive elements; index counts groups of as many, as for Load.
func (b *Builder) Store(buf int, index Value, vs ...Value) {
	b.emit(Inst{Op: Store, Index: buf, Args: append([]Value{index}, vs...)})
}

// AddBuffer adds to an element of a buffer of U32, in one piece.
func (b *Builder) AddBuffer(buf int, index, v Value) {
	b.emit(Inst{Op: AddBuffer, Index: buf, Args: []Value{index, v}})
}

// MaxBuffer makes an element of a buffer of U32 the larger of itself and v, in one piece.
func (b *Builder) MaxBuffer(buf int, index, v Value) {
	b.emit(Inst{Op: MaxBuffer, Index: buf, Args: []Value{index, v}})
}

// LoadAtomic reads an element of a buffer of U32 that AddBuffer or MaxBuffer of others may change meanwhile.
func (b *Builder) LoadAtomic(buf int, index Value) Value {
	return b.emit(Inst{Op: LoadAtomic, Index: buf, Args: []Value{index}}, scalar.U32)[0]
}

// LoadShared reads an element of a shared array.
func (b *Builder) LoadShared(array int, index Value) Value {
	if b.twofold[array] {
		return b.Pair(b.sharedPart(array, index), b.sharedPart(array+1, index))
	}
	return b.sharedPart(array, index)
}

func (b *Builder) sharedPart(array int, index Value) Value {
	return b.emit(Inst{Op: LoadShared, Index: array, Args: []Value{index}}, b.k.Shared[array].Type)[0]
}

// StoreShared writes an element of a shared array.
func (b *Builder) StoreShared(array int, index, v Value) {
	if b.twofold[array] {
		re, im := b.Parts(v)
		b.emit(Inst{Op: StoreShared, Index: array + 1, Args: []Value{index, im}})
		v = re
	}
	b.emit(Inst{Op: StoreShared, Index: array, Args: []Value{index, v}})
}

// AddShared adds to an element of a shared array, in one piece.
func (b *Builder) AddShared(array int, index, v Value) {
	b.emit(Inst{Op: AddShared, Index: array, Args: []Value{index, v}})
}

// SetSubgroup says how many invocations a subgroup has, for a kernel that uses them.
func (b *Builder) SetSubgroup(n int) { b.k.SubgroupSize = uint32(n) }

// SubgroupBarrier waits for the subgroup and makes its shared writes visible.
func (b *Builder) SubgroupBarrier() { b.emit(Inst{Op: SubgroupBarrier}) }

// Ballot returns a bit for every invocation of the subgroup, in words of 32.
func (b *Builder) Ballot(c Value) []Value {
	types := make([]scalar.Type, (b.k.SubgroupSize+31)/32)
	for i := range types {
		types[i] = scalar.U32
	}
	return b.emit(Inst{Op: Ballot, Args: []Value{c}}, types...)
}

// ExclusiveSum returns the sum of the values of the invocations before this one.
func (b *Builder) ExclusiveSum(x Value) Value {
	return b.emit(Inst{Op: ExclusiveSum, Args: []Value{x}}, scalar.U32)[0]
}

// Barrier waits for the workgroup and makes its shared writes visible.
func (b *Builder) Barrier() { b.emit(Inst{Op: Barrier}) }

// If runs one of two branches, which yield as many values of the same types.
// A nil branch is empty.
func (b *Builder) If(cond Value, then, els func() []Value) []Value {
	in := Inst{Op: If, Args: []Value{cond}, Blocks: make([]Block, 2)}
	like := b.fill(&in.Blocks[0], then)
	b.fill(&in.Blocks[1], els)
	res := b.emit(in, b.typesOf(in.Blocks[0].Yield)...)
	for i, v := range res {
		b.know(v, b.facts[in.Blocks[0].Yield[i]]&b.facts[in.Blocks[1].Yield[i]])
	}
	return b.together(like, res)
}

// Loop runs body for index = first, first+step, … below limit, carrying values.
func (b *Builder) Loop(first, limit, step Value, init []Value, body func(i Value, carried []Value) []Value) []Value {
	parts := b.apart(init)
	in := Inst{Op: Loop, Args: append([]Value{first, limit, step}, parts...), Blocks: make([]Block, 1)}
	blk := &in.Blocks[0]
	blk.Params = []Value{b.value(b.Type(first))}
	for _, v := range parts {
		blk.Params = append(blk.Params, b.value(b.Type(v)))
	}
	b.fill(blk, func() []Value { return body(blk.Params[0], b.together(init, blk.Params[1:])) })
	return b.together(init, b.emit(in, b.typesOf(parts)...))
}

// fill writes a block and returns the values that it yields, as parts.
func (b *Builder) fill(blk *Block, body func() []Value) (yield []Value) {
	if body == nil {
		return nil
	}
	from, known := len(b.open), len(b.done.entries)
	yield = body()
	blk.Yield = b.apart(yield)
	blk.Insts = b.closed(from)
	b.done.cut(known)
	return yield
}

func (b *Builder) typesOf(vs []Value) []scalar.Type {
	types := make([]scalar.Type, len(vs))
	for i, v := range vs {
		types[i] = b.Type(v)
	}
	return types
}

// clip keeps the bits that a value of the type has.
func clip(t scalar.Type, bits uint64) uint64 {
	switch {
	case t == scalar.Bool:
		return bits & 1
	case Is64(t):
		return bits
	}
	return bits & math.MaxUint32
}
