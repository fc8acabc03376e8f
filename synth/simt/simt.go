package simt

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"nxvk/fallback/sched"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Width is the number of invocations that run side by side.
const Width = 128

// Code is a kernel, ready to run. It may run on many goroutines at once.
type Code struct {
	k     *kernel.Kernel
	fused bool // whether Fma rounds once
	at    []int
	words int // of the columns of a machine
	body  []op
	spare sync.Pool // of machines
}

// op carries out an instruction.
type op func(m *machine)

// Compile readies a kernel. With fused the multiply-add rounds once, else twice. It
// gives nil for a kernel with shared memory, barriers or subgroups.
func Compile(k *kernel.Kernel, fused bool) *Code {
	if k.SubgroupSize > 0 || len(k.Shared) > 0 {
		return nil
	}
	c := &Code{k: k, fused: fused, at: make([]int, len(k.Types))}
	for v, t := range k.Types {
		c.at[v] = c.words
		c.words += Width * kernel.TypeSize(t) / 8
	}
	c.body = c.block(&k.Body)
	if c.body == nil {
		return nil
	}
	return c
}

// Size is how many instructions the kernel has.
func (c *Code) Size() int { return len(c.k.Types) }

// machine is where a Code runs: a column for each value, and what the invocations of
// one stretch have in common.
type machine struct {
	*Code
	columns []uint64
	n       int      // invocations side by side
	mask    []uint32 // 0 for those that are left out; nil where none are
	active  int      // those that are not
	ran     int      // elements of columns computed so far
	looked  int      // and when others had their turn last

	w *sched.Worker

	buffers [][]byte
	params  []byte
	grid    [3]uint32
}

// Run carries out a dispatch on buffers and the parameter block, on all processors that
// w has, which may be nil. It tells how many elements of columns it has computed. An access
// outside of a buffer panics. Buffers begin at a multiple of 8 bytes. Where the computation
// is to stop Run unwinds as sched.Worker.Check does.
func (c *Code) Run(w *sched.Worker, buffers [][]byte, params []byte, grid [3]uint32) (ran int) {
	if len(buffers) != len(c.k.Buffers) || len(params) < c.k.ParamBytes() {
		panic(fmt.Sprintf("BUG: kernel %q run with %d buffers and %d bytes", c.k.Name, len(buffers), len(params)))
	}
	local := int(c.k.Local[0] * c.k.Local[1] * c.k.Local[2])
	all := int(grid[0]) * int(grid[1]) * int(grid[2]) * local
	first := min(all, Width)
	ran = c.stretch(w, buffers, params, grid, 0, first)
	rest := (all - first + Width - 1) / Width
	each := max(1, apart/max(1, ran)) // stretches that are worth another processor
	if rest <= each {
		return ran + c.stretch(w, buffers, params, grid, first, all)
	}
	var sum atomic.Int64
	w.For(rest, min(max(each, (rest+sched.Processors()-1)/sched.Processors()), max(1, turn/max(1, ran))), func(w *sched.Worker, lo, hi int) {
		sum.Add(int64(c.stretch(w, buffers, params, grid, first+lo*Width, min(first+hi*Width, all))))
	})
	return ran + int(sum.Load())
}

const (
	// apart is how many elements of columns are worth another processor.
	apart = 4096
	// turn is how many elements of columns are computed between two looks at whether
	// others wait, or the computation is to stop.
	turn = 256 << 10
)

// stretch carries out the invocations from first to end, which are numbered through
// all workgroups.
func (c *Code) stretch(w *sched.Worker, buffers [][]byte, params []byte, grid [3]uint32, first, end int) int {
	if first >= end {
		return 0
	}
	m, _ := c.spare.Get().(*machine)
	if m == nil {
		m = &machine{Code: c, columns: make([]uint64, c.words)}
	}
	m.w, m.buffers, m.params, m.grid, m.ran, m.looked = w, buffers, params, grid, 0, 0
	m.n = min(Width, end-first)
	for i := range c.k.Head {
		m.constant(&c.k.Head[i])
	}
	for ; first < end; first += Width {
		m.n = min(Width, end-first)
		m.mask, m.active = nil, m.n
		for i := range c.k.Head {
			if in := &c.k.Head[i]; in.Op == kernel.Builtin {
				m.builtin(in, first)
			}
		}
		m.run(c.body)
	}
	ran := m.ran
	m.w, m.buffers, m.params = nil, nil, nil
	c.spare.Put(m)
	return ran
}

func (m *machine) run(ops []op) {
	for _, o := range ops {
		o(m)
	}
	if m.ran += len(ops) * m.n; m.ran-m.looked >= turn { // kernels may loop for long
		m.looked = m.ran
		m.w.Check()
	}
}

// constant fills the column of a constant or a parameter.
func (m *machine) constant(in *kernel.Inst) {
	v := in.Res[0]
	switch in.Op {
	case kernel.Const:
		m.fill(v, in.Bits)
	case kernel.ParamOf:
		p := m.k.Params[in.Index]
		if kernel.TypeSize(p.Type) == 8 {
			m.fill(v, binary.LittleEndian.Uint64(m.params[p.Offset:]))
		} else {
			m.fill(v, uint64(binary.LittleEndian.Uint32(m.params[p.Offset:])))
		}
	}
}

// fill gives all invocations the same bits.
func (m *machine) fill(v kernel.Value, bits uint64) {
	if kernel.Is64(m.k.Types[v]) {
		all(column[uint64](m, v), bits)
	} else {
		all(column[uint32](m, v), uint32(bits))
	}
}

func all[T any](d []T, x T) {
	for i := range d {
		d[i] = x
	}
}

// builtin fills the column of a builtin for the invocations from first on.
func (m *machine) builtin(in *kernel.Inst, first int) {
	d, l, g := column[uint32](m, in.Res[0]), m.k.Local, m.grid
	local := l[0] * l[1] * l[2]
	for i := range d {
		group, u := uint32(first+i)/local, uint32(first+i)%local
		switch in.Index {
		case kernel.LocalX:
			d[i] = u % l[0]
		case kernel.LocalY:
			d[i] = u / l[0] % l[1]
		case kernel.LocalZ:
			d[i] = u / (l[0] * l[1])
		case kernel.GroupX:
			d[i] = group % g[0]
		case kernel.GroupY:
			d[i] = group / g[0] % g[1]
		case kernel.GroupZ:
			d[i] = group / (g[0] * g[1])
		default:
			d[i] = g[in.Index-kernel.GroupsX]
		}
	}
}

// is32 reports whether columns of a type have elements of 32 bits. Values of type Bool are
// 0 or 1.
func is32(t scalar.Type) bool { return !kernel.Is64(t) }
