package spirv

import (
	"cmp"
	"iter"
	"slices"

	"nxvk/synth/scalar"
)

// base is a module of package shaders, cut into its sections. It has one entry
// point, called main, and push constants, which begin with the addresses of its buffers where these are
// reached so.
type base struct {
	version, bound uint32
	glsl, entry    uint32
	caps           []uint32
	imports        []uint32 // instructions, up to the memory model
	iface          []uint32 // variables, without that of the push constants
	modes          []uint32
	decor          []uint32
	types          []uint32
	functions      [][]uint32

	push             uint32   // the variable
	members, offsets []uint32 // of its block

	unique map[key]uint32    // types that a module may declare once
	stores map[uint32]Stored // types of functions that store results, and how many these are
	sizes  []Stored          // those numbers, smallest first
	calls  map[uint32]Called // types of functions that give a value for numbers
}

// functionType is the word of OpFunction that names the type.
const functionType = 4

// instructions are the opcodes and the words of some instructions.
func instructions(code []uint32) iter.Seq2[uint32, []uint32] {
	return func(yield func(uint32, []uint32) bool) {
		for len(code) > 0 {
			n := code[0] >> 16
			if !yield(code[0]&0xffff, code[:n]) {
				return
			}
			code = code[n:]
		}
	}
}

// readBase reads a module that this build has embedded.
func readBase(code []uint32) *base {
	b := &base{version: code[1], bound: code[3], unique: map[key]uint32{}, stores: map[uint32]Stored{}, calls: map[uint32]Called{}}
	body := code[headerWords:]
	b.readPush(body)
	for op, w := range instructions(body) {
		switch {
		case op == opFunction:
			b.functions = append(b.functions, nil)
			fallthrough
		case len(b.functions) > 0:
			last := &b.functions[len(b.functions)-1]
			*last = append(*last, w...)
		case op == opCapability:
			b.caps = append(b.caps, w[1])
		case op == opExtInstImport:
			b.glsl = w[1]
			fallthrough
		case op == opExtension, op == opMemoryModel:
			b.imports = append(b.imports, w...)
		case op == opEntryPoint:
			b.entry = w[2]
			b.iface = slices.DeleteFunc(slices.Clone(w[3+len(text("main")):]), func(v uint32) bool { return v == b.push })
		case op == opExecutionMode:
			b.modes = append(b.modes, w...)
		case op == opDecorate, op == opMemberDecorate:
			b.decor = append(b.decor, w...)
		case op == opVariable && w[2] == b.push:
		default:
			b.types = append(b.types, w...)
			b.readType(op, w)
		}
	}
	slices.SortFunc(b.sizes, func(x, y Stored) int {
		return cmp.Or(cmp.Compare(x.Vectors, y.Vectors), cmp.Compare(x.Elements, y.Elements))
	})
	return b
}

// readPush finds the push constants, and where their members lie.
func (b *base) readPush(body []uint32) {
	defined := map[uint32][]uint32{} // types by id
	for op, w := range instructions(body) {
		switch op {
		case opTypePointer, opTypeStruct:
			defined[w[1]] = w
		case opVariable:
			if w[3] == classPushConstant {
				b.push = w[2]
				b.members = defined[defined[w[1]][3]][2:]
				b.offsets = make([]uint32, len(b.members))
				b.readOffsets(body, defined[w[1]][3])
			}
		}
	}
}

func (b *base) readOffsets(body []uint32, block uint32) {
	for op, w := range instructions(body) {
		if op == opMemberDecorate && w[1] == block && w[3] == decorOffset {
			b.offsets[w[2]] = w[4]
		}
	}
}

// readType notes a type that must not be declared again, and one of functions that
// store: they take an index and results, or a vector of indices and as many vectors, and
// give nothing.
func (b *base) readType(op uint32, w []uint32) {
	switch {
	case op == opTypeVoid, op == opTypeBool:
		b.unique[key{op: op}] = w[1]
	case op == opTypeFloat, op == opTypeInt && w[3] == 0:
		b.unique[key{op: op, a: w[2]}] = w[1]
	case op == opTypeVector:
		b.unique[key{op: op, a: w[2], b: w[3]}] = w[1]
	case op == opTypeFunction && len(w) >= 5 && w[2] == b.unique[key{op: opTypeVoid}]:
		word := b.unique[key{op: opTypeInt, a: 32}]
		of, indices := b.vectorOf(w[3])
		if _, n := b.vectorOf(w[4]); of == word && len(w) == 4+indices {
			b.stores[w[1]] = Stored{indices, n}
			b.sizes = append(b.sizes, Stored{indices, n})
		}
	case op == opTypeFunction && len(w) > 3:
		b.readCalled(w)
	}
}

// readCalled notes a type of functions that take words, and maybe numbers after them, and give a word or a number.
func (b *base) readCalled(w []uint32) {
	word, number := b.unique[key{op: opTypeInt, a: 32}], b.unique[key{op: opTypeFloat, a: 32}]
	c := Called{Words: len(w) - 3, Gives: scalar.U32}
	for c.Words > 0 && w[2+c.Words] == number {
		c.Words, c.Takes = c.Words-1, c.Takes+1
	}
	if w[2] == number {
		c.Gives = scalar.F32
	}
	words := w[3 : 3+c.Words]
	if (w[2] == word || w[2] == number) && !slices.ContainsFunc(words, func(t uint32) bool { return t != word }) {
		b.calls[w[1]] = c
	}
}

// vectorOf returns the type of the elements of a vector, and their number; of a scalar itself.
func (b *base) vectorOf(typ uint32) (element uint32, n int) {
	for k, id := range b.unique {
		if k.op == opTypeVector && id == typ {
			return k.a, int(k.b)
		}
	}
	return typ, 1
}
