package kerneltest

import (
	"encoding/binary"
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Run executes a kernel on the host: one invocation after another, or, where
// the kernel has barriers or subgroups, a workgroup's invocations by turns. params is the
// parameter block. An access outside of a buffer panics, and so does a data race between
// invocations of a workgroup that has barriers: kernels that do this are wrong.
func Run(k *kernel.Kernel, buffers [][]byte, params []byte, grid [3]uint32) {
	if len(buffers) != len(k.Buffers) || len(params) < k.ParamBytes() {
		panic(fmt.Sprintf("BUG: kernel %q run with %d buffers and %d bytes", k.Name, len(buffers), len(params)))
	}
	r := &runner{k: k, buffers: buffers, params: params, grid: grid, barriers: k.SubgroupSize > 0 || hasBarrier(&k.Body)}
	if r.barriers {
		r.memory = newMemory(k, buffers)
	}
	for z := range grid[2] {
		for y := range grid[1] {
			for x := range grid[0] {
				r.group([3]uint32{x, y, z})
			}
		}
	}
}

type runner struct {
	k        *kernel.Kernel
	buffers  [][]byte
	params   []byte
	grid     [3]uint32
	barriers bool
	memory   *memory // who touches what; nil without barriers
	passed   int     // how many barriers have opened
}

func hasBarrier(b *kernel.Block) bool {
	for i := range b.Insts {
		if b.Insts[i].Op == kernel.Barrier {
			return true
		}
		for j := range b.Insts[i].Blocks {
			if hasBarrier(&b.Insts[i].Blocks[j]) {
				return true
			}
		}
	}
	return false
}

func (r *runner) group(id [3]uint32) {
	l := r.k.Local
	n := int(l[0] * l[1] * l[2])
	shared := make([][]uint64, len(r.k.Shared))
	for i, s := range r.k.Shared {
		shared[i] = make([]uint64, s.Len)
	}
	bar, subgroups := newBarrier(n), newSubgroups(n, int(r.k.SubgroupSize))
	vals := make([]uint64, len(r.k.Types))
	var all []*invocation // that run by turns
	for i := range n {
		inv := &invocation{runner: r, index: int32(i), vals: vals, shared: shared, bar: bar}
		u := uint32(i)
		inv.builtins = [len(kernel.BuiltinNames)]uint32{u % l[0], u / l[0] % l[1], u / (l[0] * l[1]),
			id[0], id[1], id[2], r.grid[0], r.grid[1], r.grid[2]}
		if s := r.k.SubgroupSize; s > 0 {
			inv.builtins[kernel.SubgroupInvocation], inv.builtins[kernel.Subgroup] = u%s, u/s
			inv.subgroup = subgroups[u/s]
		}
		if !r.barriers {
			inv.run()
			continue
		}
		inv.vals = make([]uint64, len(r.k.Types))
		all = append(all, inv)
	}
	if r.barriers {
		r.memory.round++
		r.byTurns(all)
	}
}

type invocation struct {
	*runner
	index    int32 // in its workgroup
	pause    func()
	vals     []uint64
	shared   [][]uint64
	bar      *barrier
	subgroup *subgroup
	turn     int // of instructions of the subgroup
	builtins [len(kernel.BuiltinNames)]uint32
}

func (v *invocation) run() {
	for i := range v.k.Head {
		v.head(&v.k.Head[i])
	}
	v.block(&v.k.Body)
}

func (v *invocation) head(in *kernel.Inst) {
	r := in.Res[0]
	switch in.Op {
	case kernel.Const:
		v.vals[r] = in.Bits
	case kernel.Builtin:
		v.vals[r] = uint64(v.builtins[in.Index])
	case kernel.ParamOf:
		p := v.k.Params[in.Index]
		if kernel.TypeSize(p.Type) == 8 {
			v.vals[r] = binary.LittleEndian.Uint64(v.params[p.Offset:])
		} else {
			v.vals[r] = uint64(binary.LittleEndian.Uint32(v.params[p.Offset:]))
		}
	}
}

func (v *invocation) block(b *kernel.Block) {
	for i := range b.Insts {
		v.inst(&b.Insts[i])
	}
}

func (v *invocation) inst(in *kernel.Inst) {
	switch in.Op {
	case kernel.Prim:
		v.vals[in.Res[0]] = v.prim(in)
	case kernel.Lookup:
		v.vals[in.Res[0]] = v.k.Tables[in.Index][v.vals[in.Args[0]]]
	case kernel.Load:
		for j, r := range in.Res {
			v.vals[r] = v.get(in.Index, v.vals[in.Args[0]]*uint64(len(in.Res))+uint64(j))
		}
	case kernel.Store:
		vs := in.Args[1:]
		for j, x := range vs {
			v.put(in.Index, v.vals[in.Args[0]]*uint64(len(vs))+uint64(j), v.vals[x])
		}
	case kernel.AddBuffer:
		v.accumulate(in.Index, v.vals[in.Args[0]], v.vals[in.Args[1]])
	case kernel.MaxBuffer:
		v.raise(in.Index, v.vals[in.Args[0]], v.vals[in.Args[1]])
	case kernel.LoadAtomic:
		v.vals[in.Res[0]] = v.load(in.Index, v.vals[in.Args[0]])
		v.adds(v.elements(in.Index, v.vals[in.Args[0]]))
	case kernel.LoadWord:
		at := v.vals[in.Args[0]]
		v.vals[in.Res[0]] = uint64(binary.LittleEndian.Uint32(v.buffers[in.Index][4*at:]))
		v.reads(v.cells(in.Index, at, 4))
	case kernel.LoadShared:
		at := v.vals[in.Args[0]]
		v.vals[in.Res[0]] = clip(v.k.Types[in.Res[0]], v.shared[in.Index][at])
		v.reads(v.sharedCell(in.Index, at))
	case kernel.StoreShared:
		to, x := &v.shared[in.Index][v.vals[in.Args[0]]], v.vals[in.Args[1]]
		v.writes(v.sharedCell(in.Index, v.vals[in.Args[0]]), *to == x)
		*to = x
	case kernel.AddShared:
		at := v.vals[in.Args[0]]
		v.shared[in.Index][at] += v.vals[in.Args[1]]
		v.adds(v.sharedCell(in.Index, at))
	case kernel.Barrier:
		if v.await(v.bar) {
			v.memory.round++
		}
	case kernel.SubgroupBarrier, kernel.Ballot, kernel.ExclusiveSum:
		v.together(in)
	case kernel.If:
		b := &in.Blocks[1-v.vals[in.Args[0]]]
		v.block(b)
		v.assign(in.Res, b.Yield)
	case kernel.Loop:
		v.loop(in)
	}
}

// assign copies values all at once.
func (v *invocation) assign(to, from []kernel.Value) {
	tmp := make([]uint64, len(from))
	for i, x := range from {
		tmp[i] = v.vals[x]
	}
	for i, x := range to {
		v.vals[x] = tmp[i]
	}
}

func (v *invocation) loop(in *kernel.Inst) {
	b := &in.Blocks[0]
	i, limit, step := v.vals[in.Args[0]], v.vals[in.Args[1]], v.vals[in.Args[2]]
	v.assign(b.Params[1:], in.Args[3:])
	for ; i < limit; i += step {
		v.vals[b.Params[0]] = i
		v.block(b)
		v.assign(b.Params[1:], b.Yield)
	}
	v.assign(in.Res, b.Params[1:])
}

func (v *invocation) load(buf int, i uint64) uint64 {
	b, e := v.buffers[buf], v.k.Buffers[buf].Elem
	at := i * uint64(e.Size())
	switch e {
	case kernel.U8:
		return uint64(b[at])
	case kernel.I8:
		return clip(scalar.I32, uint64(int8(b[at])))
	case kernel.U16:
		return uint64(binary.LittleEndian.Uint16(b[at:]))
	case kernel.I16:
		return clip(scalar.I32, uint64(int16(binary.LittleEndian.Uint16(b[at:]))))
	case kernel.U32, kernel.I32, kernel.F32:
		return uint64(binary.LittleEndian.Uint32(b[at:]))
	}
	return binary.LittleEndian.Uint64(b[at:])
}

// get is load, and tells who reads.
func (v *invocation) get(buf int, i uint64) uint64 {
	x := v.load(buf, i)
	v.reads(v.elements(buf, i))
	return x
}

// put stores an element of a buffer. Two invocations of a workgroup may store the same number to it, and to an element
// of shared memory: the last vector of a range begins early where the range is no whole number of vectors.
func (v *invocation) put(buf int, i, x uint64) {
	old := uint64(0)
	cells := v.elements(buf, i)
	if len(cells) > 0 {
		old = v.load(buf, i)
	}
	v.store(buf, i, x)
	if len(cells) > 0 {
		v.writes(cells, v.load(buf, i) == old)
	}
}

// accumulate adds to an element of a buffer, in one piece.
func (v *invocation) accumulate(buf int, i, x uint64) {
	v.store(buf, i, v.load(buf, i)+x)
	v.adds(v.elements(buf, i))
}

// raise makes an element of a buffer the larger of itself and x, in one piece.
func (v *invocation) raise(buf int, i, x uint64) {
	v.store(buf, i, max(v.load(buf, i), x))
	v.adds(v.elements(buf, i))
}

func (v *invocation) store(buf int, i, x uint64) {
	b, size := v.buffers[buf], uint64(v.k.Buffers[buf].Elem.Size())
	at := i * size
	switch size {
	case 1:
		b[at] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(b[at:], uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(b[at:], uint32(x))
	default:
		binary.LittleEndian.PutUint64(b[at:], x)
	}
}
