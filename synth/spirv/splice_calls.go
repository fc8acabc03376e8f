package spirv

import (
	"maps"
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Called says what a function takes and gives: some words, and so many numbers of f32 after them.
// A module has one function that is Called so, at most.
type Called struct {
	Words int
	Takes int
	Gives scalar.Type // U32 or F32
}

// arguments counts what the function takes.
func (c Called) arguments() int { return c.Words + c.Takes }

// Calls lists how functions of a kernel of package shaders are Called.
func Calls(code []uint32) []Called { return slices.Collect(maps.Values(readBase(code).calls)) }

// Call is what a module has in place of a function that gives a value, as a kernel; nil where it
// keeps its own. The last parameters of the kernel are the arguments. Its last instruction stores
// what the function gives in element 0 of shared array 0, which stands for nothing else. Its buffers
// and its other parameters are the same for all functions.
type Call func(Called) *kernel.Kernel

// SpliceCalls writes a kernel of package shaders again, which reaches so many buffers by address,
// with other code in place of functions that give values. The addresses of the buffers of that code
// follow those of the kernel, whose parameters move up; those of the code begin at byte at of
// the push constants.
func SpliceCalls(code []uint32, call Call, buffers, at int, o Options) []uint32 {
	b := readBase(code)
	var one *kernel.Kernel
	arguments := 0
	for _, c := range b.calls {
		if k := call(c); k != nil && one == nil {
			one, arguments = k, c.arguments()
		}
	}
	if one == nil || !o.Addresses {
		panic("BUG: nothing to splice, or buffers that are bound")
	}
	s := newSplicer(b, one, o)
	s.buffersAt, s.more = buffers, len(one.Buffers)
	s.buffers = make([]view, len(one.Buffers))
	s.declarePush(buffers, at, arguments)
	for _, f := range b.functions {
		c, ok := b.calls[f[functionType]]
		if k := call(c); ok && k != nil {
			s.give(f, k, c)
			continue
		}
		s.keep(f)
	}
	return s.assemble()
}

// give writes k in place of a function that gives a value.
func (s *splicer) give(f []uint32, k *kernel.Kernel, c Called) {
	s.k, s.ids = k, make([]uint32, len(k.Types))
	s.code = append(s.code, f[:f[0]>>16]...)
	var arguments []uint32
	for range c.Words {
		arguments = append(arguments, s.emit(opFunctionParameter, s.typ(scalar.U32)))
	}
	for range c.Takes {
		arguments = append(arguments, s.emit(opFunctionParameter, s.typ(scalar.F32)))
	}
	s.begin(s.id())
	s.loadHead(arguments)
	last := len(k.Body.Insts) - 1
	given := &k.Body.Insts[last]
	if given.Op != kernel.StoreShared || k.Types[given.Args[1]] != c.Gives {
		panic("BUG: the code of a function does not end with what it gives")
	}
	s.blockInsts(&kernel.Block{Insts: slices.Clip(k.Body.Insts[:last])})
	s.do(opReturnValue, s.ids[given.Args[1]])
	s.do(opFunctionEnd)
}
