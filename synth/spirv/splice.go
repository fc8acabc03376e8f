package spirv

import (
	"slices"

	"nxvk/synth/kernel"
)

// Stored says how many results a function stores at once: those of some vectors, each at a
// place of its own.
type Stored struct{ Vectors, Elements int }

// arguments counts those of a function that stores so many results.
func (n Stored) arguments() int { return n.Vectors * (1 + n.Elements) }

// Store is what a module does with results instead of storing them, as a kernel. The
// last parameters of the kernel are arguments: the index of each vector, in vectors, and
// the elements of each. Its buffers and its other parameters are the same for all. Where the
// module never stores so many it is nil.
type Store func(Stored) *kernel.Kernel

// handBuffers is how many buffers a kernel of package shaders has. The last is
// that of the results.
const handBuffers = 3

// Splice writes a kernel of package shaders again, with other code in place of
// the functions that store results (see shaders/lib/memory.glsl). Of the buffers
// of that code the first takes the place of the results, the others follow. Where
// buffers are reached by address, the parameters of the kernel move up, to after all
// addresses; those of the code begin at byte at of the push constants.
func Splice(code []uint32, store Store, at int, o Options) []uint32 {
	b := readBase(code)
	used := slices.DeleteFunc(slices.Clone(b.sizes), func(n Stored) bool { return store(n) == nil })
	s := newSplicer(b, store(used[0]), o)
	s.buffersAt, s.more = handBuffers-1, len(s.k.Buffers)-1
	s.declareBuffers(store, used)
	s.declarePush(handBuffers, at, used[0].arguments())
	for _, f := range s.base.functions {
		switch n, stores := s.base.stores[f[functionType]]; {
		case stores && store(n) != nil:
			s.replace(f, store(n), n)
		case stores:
			s.empty(f)
		default:
			s.keep(f)
		}
	}
	return s.assemble()
}

// Stores lists what the functions of a kernel of package shaders store at once.
func Stores(code []uint32) []Stored { return slices.Compact(readBase(code).sizes) }

// splicer writes the module that Splice or SpliceCalls gives.
type splicer struct {
	*module
	base      *base
	buffersAt int // the member of the push constants that is the first buffer of the code
	more      int // buffers of the code that follow those of the kernel
}

func newSplicer(b *base, k *kernel.Kernel, o Options) *splicer {
	s := &splicer{base: b, module: newModule(k, o)}
	s.last, s.glsl, s.entry, s.listed = b.bound-1, b.glsl, b.entry, true
	s.caps, s.cache = slices.Clone(b.caps), b.unique
	return s
}

// declareBuffers declares a variable for each number of elements that is loaded or
// stored at once, where buffers are bound.
func (s *splicer) declareBuffers(store Store, used []Stored) {
	for i, b := range s.k.Buffers {
		v := view{blocks: map[access]uint32{}}
		for _, n := range used {
			for _, a := range accesses(store(n), i) {
				if !s.o.Addresses && v.blocks[a] == 0 {
					v.blocks[a] = s.binding(handBuffers-1+i, b, a)
				}
			}
		}
		s.buffers = append(s.buffers, v)
	}
}

// declarePush declares a block of push constants with the members of the kernel, which begin with
// those of so many buffers, then the addresses and the parameters of the code but for its arguments.
func (s *splicer) declarePush(hand, at, arguments int) {
	types, offsets := slices.Clone(s.base.members), slices.Clone(s.base.offsets)
	if s.o.Addresses {
		for i := range offsets[hand:] {
			offsets[hand+i] += uint32(8 * s.more)
		}
		for i := range s.more {
			types, offsets = append(types, s.addressType()), append(offsets, uint32(8*(hand+i)))
		}
	}
	for _, q := range s.k.Params[:len(s.k.Params)-arguments] {
		types, offsets = append(types, s.typ(q.Type)), append(offsets, uint32(at+q.Offset))
	}
	block := s.id()
	put(&s.types, opTypeStruct, append([]uint32{block}, types...)...)
	s.decorate(block, decorBlock)
	for i, off := range offsets {
		put(&s.decor, opMemberDecorate, block, uint32(i), decorOffset, off)
	}
	s.push = pushBlock{variable: s.variable(classPushConstant, block), types: types}
}

// keep copies a function. It finds its push constants in the new block, where
// they have the same numbers.
func (s *splicer) keep(f []uint32) {
	for op, words := range instructions(f) {
		if op == opAccessChain && words[3] == s.base.push {
			words = slices.Clone(words)
			words[3] = s.push.variable
		}
		s.code = append(s.code, words...)
	}
}

// empty writes a function that does nothing in place of one that is never called.
func (s *splicer) empty(f []uint32) {
	for op, words := range instructions(f) {
		s.code = append(s.code, words...)
		if op == opLabel {
			break
		}
	}
	s.do(opReturn)
	s.do(opFunctionEnd)
}

// replace writes k in place of a function that stores some results.
func (s *splicer) replace(f []uint32, k *kernel.Kernel, n Stored) {
	s.k, s.ids = k, make([]uint32, len(k.Types))
	s.code = append(s.code, f[:f[0]>>16]...)
	word, element := s.typ(kernel.U32.Type()), s.typ(k.Params[len(k.Params)-1].Type)
	given := []uint32{s.emit(opFunctionParameter, s.vector(word, uint32(n.Vectors)))}
	for range n.Vectors {
		given = append(given, s.emit(opFunctionParameter, s.vector(element, uint32(n.Elements))))
	}
	s.begin(s.id())
	arguments := s.components(word, given[0], n.Vectors)
	for _, v := range given[1:] {
		arguments = append(arguments, s.components(element, v, n.Elements)...)
	}
	s.loadHead(arguments)
	s.blockInsts(&k.Body)
	s.do(opReturn)
	s.do(opFunctionEnd)
}

// components are those of a vector of n, or the one that a scalar is.
func (s *splicer) components(typ, v uint32, n int) (list []uint32) {
	if n == 1 {
		return []uint32{v}
	}
	for i := range n {
		list = append(list, s.emit(opCompositeExtract, typ, v, uint32(i)))
	}
	return list
}

// loadHead gives every constant, argument and parameter its id.
func (s *splicer) loadHead(arguments []uint32) {
	params := len(s.k.Params) - len(arguments)
	own := len(s.push.types) - params // the member that is parameter 0
	if s.o.Addresses {
		for i := range s.buffers {
			member := s.buffersAt
			if first := len(s.buffers) - s.more; i >= first {
				member = own - s.more + i - first
			}
			s.buffers[i].address = s.emit(opBitcast, s.addressType(), s.pushed(member))
		}
	}
	for i := range s.k.Head {
		in := &s.k.Head[i]
		r := in.Res[0]
		switch {
		case in.Op == kernel.Const:
			s.declareConst(in)
		case in.Op == kernel.ParamOf && in.Index < params:
			s.ids[r] = s.pushed(own + in.Index)
		case in.Op == kernel.ParamOf:
			s.ids[r] = arguments[in.Index-params]
		default:
			panic("BUG: what takes the place of a function asks for its invocation")
		}
	}
}

// assemble joins the sections of the kernel with those of the code.
func (s *splicer) assemble() []uint32 {
	b := s.base
	controls := s.floatControls(s.entry) // adds capabilities
	out := []uint32{magic, b.version, 0, s.last + 1, 0}
	for _, c := range s.caps {
		put(&out, opCapability, c)
	}
	out = append(out, b.imports...)
	put(&out, opEntryPoint, slices.Concat([]uint32{modelGLCompute, s.entry}, text("main"), b.iface, s.iface)...)
	return slices.Concat(out, b.modes, controls, b.decor, s.decor, b.types, s.types, s.code)
}
