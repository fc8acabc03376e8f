package kernel

import (
	"fmt"

	"nxvk/synth/scalar"
)

func (v *verifier) inst(in *Inst, uniform bool) error {
	if err := v.use(in.Args); err != nil {
		return err
	}
	for _, r := range in.Res {
		if r < 0 || int(r) >= len(v.k.Types) {
			return fmt.Errorf("v%d is out of range", r)
		}
	}
	switch in.Op {
	case Const, ParamOf, Builtin:
		return v.headInst(in)
	case Prim:
		return v.prim(in)
	case If:
		return v.branch(in)
	case Loop:
		return v.loop(in, uniform)
	case Barrier, SubgroupBarrier, Ballot, ExclusiveSum:
		if !uniform {
			return fmt.Errorf("barrier in control flow that may diverge")
		}
		return v.together(in)
	}
	return v.memory(in)
}

// together checks the instructions that invocations carry out together.
func (v *verifier) together(in *Inst) error {
	if in.Op != Barrier && v.k.SubgroupSize == 0 {
		return fmt.Errorf("an instruction of subgroups in a kernel that has none")
	}
	var args, res []scalar.Type
	switch in.Op {
	case Ballot:
		args, res = []scalar.Type{scalar.Bool}, []scalar.Type{scalar.U32, scalar.U32}[:(v.k.SubgroupSize+31)/32]
	case ExclusiveSum:
		args, res = []scalar.Type{scalar.U32}, []scalar.Type{scalar.U32}
	}
	if err := v.types(in.Args, args); err != nil {
		return err
	}
	return v.types(in.Res, res)
}

func (v *verifier) headInst(in *Inst) error {
	if len(in.Res) != 1 {
		return fmt.Errorf("an input of the kernel must define one value")
	}
	t := v.k.Types[in.Res[0]]
	switch in.Op {
	case ParamOf:
		if in.Index >= len(v.k.Params) || v.k.Params[in.Index].Type != t {
			return fmt.Errorf("v%d is not parameter %d", in.Res[0], in.Index)
		}
	case Builtin:
		if in.Index >= builtinEnd || t != scalar.U32 || in.Index >= SubgroupInvocation && v.k.SubgroupSize == 0 {
			return fmt.Errorf("v%d is not a builtin", in.Res[0])
		}
	}
	return nil
}

func isIndex(t scalar.Type) bool { return t == scalar.U32 || t == scalar.U64 || t == scalar.I32 }

// memory checks the instructions that reach buffers, tables and shared arrays.
func (v *verifier) memory(in *Inst) error {
	if len(in.Args) == 0 || !isIndex(v.k.Types[in.Args[0]]) {
		return fmt.Errorf("memory is indexed by an unsigned integer")
	}
	limit := len(v.k.Shared)
	switch in.Op {
	case Lookup:
		limit = len(v.k.Tables)
	case Load, Store, LoadWord, LoadAtomic, AddBuffer, MaxBuffer:
		limit = len(v.k.Buffers)
	}
	if in.Index >= limit {
		return fmt.Errorf("index %d of %d declared", in.Index, limit)
	}
	vs, t, err := v.accessed(in)
	if err != nil {
		return err
	}
	for _, x := range vs {
		if v.k.Types[x] != t {
			return fmt.Errorf("v%d is %s in memory of %s", x, v.k.Types[x], t)
		}
	}
	return nil
}

// accessed returns the values that an instruction moves from or to memory, and the type that they have there.
func (v *verifier) accessed(in *Inst) (vs []Value, t scalar.Type, err error) {
	switch in.Op {
	case Lookup:
		if len(in.Args) != 1 || len(in.Res) != 1 {
			return nil, t, fmt.Errorf("malformed lookup")
		}
		return nil, t, nil
	case AddBuffer, MaxBuffer, LoadAtomic:
		if buf := v.k.Buffers[in.Index]; !buf.Read || !buf.Write || buf.Elem != U32 {
			return nil, t, fmt.Errorf("buffer %d cannot grow: it is not one of u32 that is read and written", in.Index)
		}
		if in.Op == LoadAtomic {
			if len(in.Args) != 1 || len(in.Res) != 1 {
				return nil, t, fmt.Errorf("malformed load of an element that others change")
			}
			return in.Res, scalar.U32, nil
		}
		if len(in.Args) != 2 {
			return nil, t, fmt.Errorf("%d elements grow at once", len(in.Args)-1)
		}
		vs, t = in.Args[1:], scalar.U32
	case LoadWord:
		if !v.k.Buffers[in.Index].Read || len(in.Res) != 1 {
			return nil, t, fmt.Errorf("malformed load of a word from buffer %d", in.Index)
		}
		vs, t = in.Res, scalar.U32
	case Load, Store:
		buf := v.k.Buffers[in.Index]
		if (in.Op == Load && !buf.Read) || (in.Op == Store && !buf.Write) {
			return nil, t, fmt.Errorf("buffer %d is not declared for this access", in.Index)
		}
		vs, t = in.Res, buf.Elem.Type()
		if in.Op == Store {
			vs = in.Args[1:]
		}
		if n := len(vs); n != 1 && n != 2 && n != 4 && (n != 8 && n != 16 || n*buf.Elem.Size() > 16) {
			return nil, t, fmt.Errorf("%d elements in one access", n)
		}
	default:
		vs, t = in.Res, v.k.Shared[in.Index].Type
		if in.Op == StoreShared || in.Op == AddShared {
			vs = in.Args[1:]
		}
		if in.Op == AddShared && t != scalar.U32 {
			return nil, t, fmt.Errorf("a shared array of %s cannot grow", t)
		}
		if len(vs) != 1 {
			return nil, t, fmt.Errorf("%d elements in one access of a shared array", len(vs))
		}
	}
	return vs, t, nil
}

func (v *verifier) branch(in *Inst) error {
	if err := v.types(in.Args, []scalar.Type{scalar.Bool}); err != nil {
		return err
	}
	if len(in.Blocks) != 2 {
		return fmt.Errorf("if has %d branches", len(in.Blocks))
	}
	for i := range in.Blocks {
		if err := v.block(&in.Blocks[i], v.of(in.Res), false); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) loop(in *Inst, uniform bool) error {
	if len(in.Args) < 3 || len(in.Blocks) != 1 || len(in.Res) != len(in.Args)-3 {
		return fmt.Errorf("malformed loop")
	}
	t := v.k.Types[in.Args[0]]
	if t != scalar.U32 && t != scalar.U64 {
		return fmt.Errorf("loop over %s", t)
	}
	if err := v.types(in.Args[:3], []scalar.Type{t, t, t}); err != nil {
		return err
	}
	carried := v.of(in.Args[3:])
	if err := v.types(in.Res, carried); err != nil {
		return err
	}
	for _, p := range in.Blocks[0].Params {
		if int(p) >= len(v.k.Types) {
			return fmt.Errorf("v%d is out of range", p)
		}
	}
	if err := v.types(in.Blocks[0].Params, append([]scalar.Type{t}, carried...)); err != nil {
		return err
	}
	// Whether the bounds are uniform is the lowering's business: loops over
	// constants and parameters are.
	return v.block(&in.Blocks[0], carried, uniform)
}

// prim checks the types of a primitive operation.
func (v *verifier) prim(in *Inst) error {
	if PrimName(in.Prim) == "" {
		return fmt.Errorf("operation %d is not primitive", in.Prim)
	}
	info := &primInfo[in.Prim]
	if len(in.Args) != info.arity || len(in.Res) != 1 {
		return fmt.Errorf("malformed primitive operation %q", info.name)
	}
	var room [3]scalar.Type
	a, r := room[:len(in.Args)], v.k.Types[in.Res[0]]
	for i, x := range in.Args {
		a[i] = v.k.Types[x]
	}
	ok := true
	switch in.Prim {
	case scalar.Convert:
	case scalar.Bitcast:
		ok = Is64(a[0]) == Is64(r)
	case scalar.Pack:
		ok = a[0] == scalar.U32 && a[1] == scalar.U32 && Is64(r)
	case scalar.Lo, scalar.Hi:
		ok = Is64(a[0]) && r == scalar.U32
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
		ok = a[0] == a[1] && r == scalar.Bool
	case scalar.Select:
		ok = a[0] == scalar.Bool && a[1] == r && a[2] == r
	case scalar.Shl, scalar.Shr:
		ok = a[0] == r && a[1] == scalar.U32
	case scalar.FindMSB, scalar.BitCount:
		ok = a[0] == scalar.U32
	case scalar.PackHalf:
		ok = a[0] == scalar.F32 && r == scalar.U32
	case scalar.RoundHalf:
		ok = a[0] == scalar.F32 && r == scalar.F32
	case scalar.UnpackHalf:
		ok = a[0] == scalar.U32 && r == scalar.F32
	default:
		for _, t := range a {
			ok = ok && t == r
		}
	}
	if !ok {
		return fmt.Errorf("%s of v%d: types do not fit", info.name, in.Res[0])
	}
	return nil
}
