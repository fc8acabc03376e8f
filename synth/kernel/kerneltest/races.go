package kerneltest

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"nxvk/synth/kernel"
)

// memory is who touches the memory of a kernel that has barriers: a data race is
// two accesses of an element by two invocations of a workgroup, one of them a write, without a
// barrier between them. In a barrier of a subgroup its invocations wait for each other alone.
type memory struct {
	round  uint32    // between two barriers; workgroups go on counting
	shared [][]cell  // of each shared array
	of     []*region // of each buffer
}

// region is memory that buffers have in common.
type region struct {
	from, to uintptr
	unit     uintptr // bytes of a cell
	written  bool
	cells    []cell // none where the kernel writes nothing of it
}

// cell is an element, or a part of one.
type cell struct {
	read, write touch
	atomic      bool // the last write
}

// touch is the last accesses of a kind.
type touch struct {
	round, within uint32 // between barriers of the workgroup, and of the subgroup
	by, subgroup  int32
}

// several stands for more than one invocation, or more than one subgroup.
const several = -1

func newMemory(k *kernel.Kernel, buffers [][]byte) *memory {
	m := &memory{shared: make([][]cell, len(k.Shared)), of: make([]*region, len(buffers))}
	for i, s := range k.Shared {
		m.shared[i] = make([]cell, s.Len)
	}
	order := make([]int, len(buffers))
	for i := range order {
		order[i] = i
	}
	start := func(i int) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(buffers[i]))) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(start(a), start(b)) })
	var regions []*region
	var last *region
	for _, i := range order {
		from, unit := start(i), uintptr(min(4, k.Buffers[i].Elem.Size()))
		if last == nil || from >= last.to {
			last = &region{from: from, unit: unit}
			regions = append(regions, last)
		}
		last.to, last.unit = max(last.to, from+uintptr(len(buffers[i]))), min(last.unit, unit)
		last.written = last.written || k.Buffers[i].Write
		m.of[i] = last
	}
	for _, r := range regions {
		if r.written {
			r.cells = make([]cell, (r.to-r.from+r.unit-1)/r.unit)
		}
	}
	return m
}

// cells are those of an element of so many bytes of a buffer.
func (v *invocation) cells(buf int, i uint64, size int) []cell {
	if v.memory == nil || v.memory.of[buf].cells == nil {
		return nil
	}
	r := v.memory.of[buf]
	at := uintptr(unsafe.Pointer(unsafe.SliceData(v.buffers[buf]))) - r.from + uintptr(i)*uintptr(size)
	return r.cells[at/r.unit : (at+uintptr(size)-1)/r.unit+1]
}

func (v *invocation) elements(buf int, i uint64) []cell {
	return v.cells(buf, i, v.k.Buffers[buf].Elem.Size())
}

func (v *invocation) sharedCell(array int, i uint64) []cell {
	if v.memory == nil {
		return nil
	}
	return v.memory.shared[array][i : i+1]
}

// now is the touch of an invocation that runs.
func (v *invocation) now() touch {
	t := touch{round: v.memory.round, by: v.index}
	if v.subgroup != nil {
		t.within, t.subgroup = v.subgroup.round, int32(v.builtins[kernel.Subgroup])
	}
	return t
}

// before reports whether earlier accesses are ordered before one that is now.
func (t *touch) before(now touch) bool {
	return t.round != now.round || t.by == now.by || t.subgroup == now.subgroup && t.within != now.within
}

// add takes one more access in. What is ordered before it need not be kept, if it is of the
// same subgroup: an access that conflicts with it also conflicts with this one.
func (t *touch) add(now touch) {
	switch {
	case t.round != now.round:
		*t = now
	case t.subgroup != now.subgroup:
		t.by, t.subgroup = several, several
	case t.within != now.within:
		*t = now
	case t.by != now.by:
		t.by = several
	}
}

func (v *invocation) reads(cells []cell) {
	for i := range cells {
		c, now := &cells[i], v.now()
		if !c.write.before(now) {
			v.race("reads", "writes", c.write)
		}
		c.read.add(now)
	}
}

// writes tells of a write. same is whether it leaves what was there.
func (v *invocation) writes(cells []cell, same bool) {
	for i := range cells {
		c, now := &cells[i], v.now()
		if !c.write.before(now) && (!same || c.atomic) {
			v.race("writes", "writes", c.write)
		}
		v.wrote(c, now, false)
	}
}

// adds tells of an atomic write.
func (v *invocation) adds(cells []cell) {
	for i := range cells {
		c, now := &cells[i], v.now()
		if !c.write.before(now) && !c.atomic {
			v.race("adds to", "writes", c.write)
		}
		v.wrote(c, now, true)
	}
}

func (v *invocation) wrote(c *cell, now touch, atomic bool) {
	if !c.read.before(now) {
		v.race("writes", "reads", c.read)
	}
	c.write.add(now)
	c.atomic = atomic
}

// race panics: an invocation does something to an element that another does something to.
func (v *invocation) race(does, did string, t touch) {
	other := fmt.Sprint("invocation ", t.by)
	if t.by == several {
		other = "another"
	}
	panic(fmt.Sprintf("kernel %q: data race: invocation %d %s what %s %s, without a barrier between them", v.k.Name, v.index, does, other, did))
}
