package simt

import "nxvk/synth/kernel"

type integer interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~uint64
}

type word interface{ ~uint32 | ~uint64 }

// lookup readies the reading of a table.
func (c *Code) lookup(in *kernel.Inst) op {
	table, d, x := c.k.Tables[in.Index], in.Res[0], in.Args[0]
	if is32(c.k.Types[d]) {
		return looking[uint32](table, d, x)
	}
	return looking[uint64](table, d, x)
}

func looking[T word](table []uint64, to, index kernel.Value) op {
	values := make([]T, len(table))
	for i, bits := range table {
		values[i] = T(bits)
	}
	return func(m *machine) {
		d, x := column[T](m, to), column[uint32](m, index)
		for i := range d {
			// An invocation that is left out may have any index.
			if k := x[i]; int(k) < len(values) {
				d[i] = values[k]
			} else if m.mask == nil || m.mask[i] != 0 {
				panic("BUG: a table is read beyond its end")
			}
		}
	}
}

// access is an instruction that reads or writes groups of elements of a buffer.
type access struct {
	buffer int
	group  []kernel.Value // by place in the group
	index  kernel.Value   // of the group
}

// load readies the reading of groups.
func (c *Code) load(in *kernel.Inst) op {
	a := access{in.Index, in.Res, in.Args[0]}
	switch c.k.Buffers[in.Index].Elem {
	case kernel.U8:
		return loading[uint8, uint32](c, a)
	case kernel.I8:
		return loading[int8, int32](c, a)
	case kernel.U16:
		return loading[uint16, uint32](c, a)
	case kernel.I16:
		return loading[int16, int32](c, a)
	case kernel.U32, kernel.I32, kernel.F32:
		return loading[uint32, uint32](c, a)
	}
	return loading[uint64, uint64](c, a)
}

func loading[E, T integer](c *Code, a access) op {
	if is32(c.k.Types[a.index]) {
		return func(m *machine) { loadGroups[E, T, uint32](m, &a) }
	}
	return func(m *machine) { loadGroups[E, T, uint64](m, &a) }
}

func loadGroups[E, T integer, I word](m *machine, a *access) {
	b, x := elements[E](m.buffers[a.buffer]), column[I](m, a.index)
	switch {
	case m.mask != nil:
		for j, v := range a.group {
			d := column[T](m, v)
			for i, on := range m.mask {
				if on != 0 {
					d[i] = T(b[int(x[i])*len(a.group)+j])
				}
			}
		}
	case len(a.group) == 4:
		d0, d1 := column[T](m, a.group[0]), column[T](m, a.group[1])
		d2, d3 := column[T](m, a.group[2]), column[T](m, a.group[3])
		for i, at := range x {
			g := b[4*int(at):][:4]
			d0[i], d1[i], d2[i], d3[i] = T(g[0]), T(g[1]), T(g[2]), T(g[3])
		}
	default:
		for j, v := range a.group {
			d := column[T](m, v)
			for i, at := range x {
				d[i] = T(b[int(at)*len(a.group)+j])
			}
		}
	}
}

// store readies the writing of groups.
func (c *Code) store(in *kernel.Inst) op {
	a := access{in.Index, in.Args[1:], in.Args[0]}
	switch c.k.Buffers[in.Index].Elem.Size() {
	case 1:
		return storing[uint8, uint32](c, a)
	case 2:
		return storing[uint16, uint32](c, a)
	case 4:
		return storing[uint32, uint32](c, a)
	}
	return storing[uint64, uint64](c, a)
}

func storing[E, T integer](c *Code, a access) op {
	if is32(c.k.Types[a.index]) {
		return func(m *machine) { storeGroups[E, T, uint32](m, &a) }
	}
	return func(m *machine) { storeGroups[E, T, uint64](m, &a) }
}

func storeGroups[E, T integer, I word](m *machine, a *access) {
	b, x := elements[E](m.buffers[a.buffer]), column[I](m, a.index)
	switch {
	case m.mask != nil:
		for j, v := range a.group {
			s := column[T](m, v)
			for i, on := range m.mask {
				if on != 0 {
					b[int(x[i])*len(a.group)+j] = E(s[i])
				}
			}
		}
	case len(a.group) == 4:
		s0, s1 := column[T](m, a.group[0]), column[T](m, a.group[1])
		s2, s3 := column[T](m, a.group[2]), column[T](m, a.group[3])
		for i, at := range x {
			g := b[4*int(at):][:4]
			g[0], g[1], g[2], g[3] = E(s0[i]), E(s1[i]), E(s2[i]), E(s3[i])
		}
	default:
		for j, v := range a.group {
			s := column[T](m, v)
			for i, at := range x {
				b[int(at)*len(a.group)+j] = E(s[i])
			}
		}
	}
}
