package simt

import (
	"slices"

	"nxvk/synth/kernel"
)

// block readies the instructions of a block, nil where one of them is not for here.
func (c *Code) block(b *kernel.Block) []op {
	ops := make([]op, 0, len(b.Insts))
	for i := range b.Insts {
		o := c.inst(&b.Insts[i])
		if o == nil {
			return nil
		}
		ops = append(ops, o)
	}
	return ops
}

func (c *Code) inst(in *kernel.Inst) op {
	switch in.Op {
	case kernel.Prim:
		return c.prim(in)
	case kernel.Lookup:
		return c.lookup(in)
	case kernel.Load:
		return c.load(in)
	case kernel.Store:
		return c.store(in)
	case kernel.If:
		return c.branch(in)
	case kernel.Loop:
		return c.loop(in)
	}
	return nil
}

// branch readies an If. Where all invocations go one way, only that is taken.
func (c *Code) branch(in *kernel.Inst) op {
	yes, no := c.block(&in.Blocks[0]), c.block(&in.Blocks[1])
	if yes == nil || no == nil {
		return nil
	}
	cond, res := in.Args[0], in.Res
	yield := [2][]kernel.Value{in.Blocks[0].Yield, in.Blocks[1].Yield}
	return func(m *machine) {
		where := column[uint32](m, cond)
		switch m.count(where) {
		case m.active:
			m.run(yes)
			m.copy(res, yield[0])
		case 0:
			m.run(no)
			m.copy(res, yield[1])
		default:
			m.split(where, yes, no)
			for i, r := range res {
				m.blend(r, where, yield[0][i], yield[1][i])
			}
		}
	}
}

// count is how many of the active invocations a condition holds for.
func (m *machine) count(where []uint32) (n int) {
	if m.mask == nil {
		for _, x := range where {
			n += int(x)
		}
		return n
	}
	for i, x := range where {
		n += int(x & m.mask[i])
	}
	return n
}

// split takes both ways of a branch, each for its invocations, and for those before the last of them: most branches leave out
// what is behind the end of a result.
func (m *machine) split(where []uint32, yes, no []op) {
	mask, active, n := m.mask, m.active, m.n
	var room [Width]uint32
	for k, ops := range [2][]op{yes, no} {
		m.active, m.n = 0, 0
		for i, x := range where {
			x ^= uint32(k)
			if mask != nil {
				x &= mask[i]
			}
			if room[i] = x; x != 0 {
				m.active++
				m.n = i + 1
			}
		}
		m.mask = room[:m.n]
		m.run(ops)
	}
	m.mask, m.active, m.n = mask, active, n
}

// copy gives values what others have, all at once: one of them may be another's.
func (m *machine) copy(to, from []kernel.Value) {
	if len(to) > 1 && slices.ContainsFunc(from, func(v kernel.Value) bool { return slices.Contains(to, v) }) {
		m.swap(to, from)
		return
	}
	for i, v := range to {
		m.move(v, from[i])
	}
}

// swap is copy for values that may also be sources.
func (m *machine) swap(to, from []kernel.Value) {
	var room []uint64
	for _, v := range from {
		room = append(room, m.raw(v)...)
	}
	for _, v := range to {
		room = room[copy(m.raw(v), room):]
	}
}

// move gives a value what another has.
func (m *machine) move(to, from kernel.Value) {
	if to != from {
		copy(m.raw(to), m.raw(from))
	}
}

// blend sets a value to one of two others, by a condition.
func (m *machine) blend(to kernel.Value, where []uint32, x, y kernel.Value) {
	if is32(m.k.Types[to]) {
		choose(column[uint32](m, to), where, column[uint32](m, x), column[uint32](m, y))
	} else {
		choose(column[uint64](m, to), where, column[uint64](m, x), column[uint64](m, y))
	}
}

// loop readies a Loop. The index has 32 or 64 bits.
func (c *Code) loop(in *kernel.Inst) op {
	b := &in.Blocks[0]
	body := c.block(b)
	if body == nil {
		return nil
	}
	if is32(c.k.Types[b.Params[0]]) {
		return looping[uint32](in, b, body)
	}
	return looping[uint64](in, b, body)
}

// looping readies a Loop whose index is a T. Invocations for which it ends early are
// masked out of the rest.
func looping[T uint32 | uint64](in *kernel.Inst, b *kernel.Block, body []op) op {
	carried := b.Params[1:]
	return func(m *machine) {
		first, limit, step := column[T](m, in.Args[0]), column[T](m, in.Args[1]), column[T](m, in.Args[2])
		m.copy(carried, in.Args[3:])
		if alike(first) && alike(limit) && alike(step) {
			for i := first[0]; i < limit[0]; i += step[0] {
				all(column[T](m, b.Params[0]), i)
				m.run(body)
				m.copy(carried, b.Yield)
			}
		} else {
			rounds(m, b, body, first, limit, step)
		}
		m.copy(in.Res, carried)
	}
}

// rounds carries out a loop that does not end for all invocations at once.
func rounds[T uint32 | uint64](m *machine, b *kernel.Block, body []op, first, limit, step []T) {
	mask, active := m.mask, m.active
	var room [Width]uint32
	m.mask = room[:m.n]
	var at [Width]T
	copy(at[:], first)
	old := make([]uint64, 0, Width)
	for {
		m.active = 0
		for i := range m.mask {
			m.mask[i] = 0
			if at[i] < limit[i] && (mask == nil || mask[i] != 0) {
				m.mask[i] = 1
				m.active++
			}
		}
		if m.active == 0 {
			break
		}
		copy(column[T](m, b.Params[0]), at[:])
		m.run(body)
		m.carry(b.Params[1:], b.Yield, old)
		for i := range m.mask {
			at[i] += step[i]
		}
	}
	m.mask, m.active = mask, active
}

// carry gives the carried values of a loop what its body yields, where that has run.
func (m *machine) carry(to, from []kernel.Value, room []uint64) {
	var yields []uint64
	for _, v := range from {
		yields = append(yields, m.raw(v)...)
	}
	for _, v := range to {
		d := m.raw(v)
		if y := yields[:len(d)]; is32(m.k.Types[v]) {
			choose(view[uint32](d)[:m.n], m.mask, view[uint32](y), view[uint32](d))
		} else {
			choose(d[:m.n], m.mask, y, d)
		}
		yields = yields[len(d):]
	}
}

// alike reports whether all elements are the same.
func alike[T comparable](x []T) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
