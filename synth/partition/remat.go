package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// remat is the cost of recomputing a value where it is read.
type remat struct {
	cost   int   // primitive operations an element
	reads  []int // nodes and, below zero, parameters that it reads from memory
	tensor int   // how many of them have about as many elements as it has itself
	gather bool  // it reads at indices
}

// A value is recomputed where it is read, rather than stored once and loaded, if that
// takes few operations an element and reads at most one tensor. A small tensor, whose elements are
// read so often that caches hold them, as the means of a batch norm, does not count. A scalar may take
// more operations, because it would be a dispatch of its own.
const (
	cheapElement = 16
	cheapScalar  = 256
	cheapPart    = 64 // see isPart
	manyReaders  = 64 // elements that read one of a small tensor
)

// rematOf adds up the cost of recomputing a node.
func (f *partitioner) rematOf(n *node) remat {
	p, size := remat{cost: fusion.Cost(f.t, n.in, f.typesOf(n.in)), gather: fusion.Gathers(n.in.Op)}, n.in.Outs[0].Type.Size()
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		j := f.number(o.ID)
		if j >= 0 && f.through(&f.nodes[j]) {
			p.cost += f.nodes[j].remat.cost
			p.gather = p.gather || f.nodes[j].remat.gather
			for _, r := range f.nodes[j].remat.reads {
				p.read(f, r, size)
			}
			continue
		}
		p.read(f, j, size)
	}
	return p
}

// read adds a value that a node of so many elements reads.
func (p *remat) read(f *partitioner, j, size int) {
	if slices.Contains(p.reads, j) {
		return
	}
	p.reads = append(p.reads, j)
	if n := f.sizeOf(j); n > 1 && n*manyReaders > size {
		p.tensor++
	}
}

// number is the index of the node that defines a value or, below zero, of the
// parameter.
func (f *partitioner) number(id ops.ID) int {
	if j, ok := f.made[id]; ok {
		return j
	}
	return -1 - int(id)
}

// sizeOf is the number of elements of the result of a node or, below zero, of a
// parameter.
func (f *partitioner) sizeOf(j int) int {
	if j >= 0 {
		return f.nodes[j].in.Outs[0].Type.Size()
	}
	return f.types[ops.ID(-1-j)].Size()
}

// isCheap reports whether readers of an instruction recompute it.
func (f *partitioner) isCheap(n *node) bool {
	if n.pattern != patternElementwise || n.inMemory || fusion.Updates(n.in) || len(n.remat.reads) > maxReads {
		return false
	}
	if n.remat.gather && len(n.users) > maxGathered {
		return false
	}
	if n.in.Outs[0].Type.Size() == 1 {
		return n.remat.cost <= cheapScalar
	}
	if f.isPart(n) {
		return n.remat.cost <= cheapPart && n.remat.tensor <= 1
	}
	return n.remat.cost <= cheapElement && n.remat.tensor <= 1
}

// isPart reports whether nothing but a concatenation reads a node, which has each of its elements once: a GPU computes them
// in that kernel as soon as in their own. A processor would compute all parts for each element. A concatenation whose
// parts adjoin takes no kernel; see concatenated.
func (f *partitioner) isPart(n *node) bool {
	if f.t.CPU || len(n.users) != 1 || n.kept {
		return false
	}
	in := f.nodes[n.users[0]].in
	return in.Op == ops.Concatenate && ops.Shape(in.Outs[0].Type.Shape[:in.Attrs[0][0]]).Size() != 1
}

// maxGathered bounds the readers that recompute what is read at indices: each waits for the index and then for the
// element, and has the index checked.
const maxGathered = 4

// maxReads bounds the values that a recomputed one reads.
const maxReads = 4

// tiles reports whether a view is a transposition that is faster in a kernel of its
// own: it reads a large tensor along another dimension than it writes.
func (f *partitioner) tiles(in *ops.Instr) bool {
	if in.Op != ops.Transpose {
		return false
	}
	operand := f.typeOf(in.Ins[0])
	return f.caps.Tiles(in, operand, f.t) && !f.foldsAcross(in, operand)
}

// foldsAcross reports whether nothing but reductions use a transposition, which load the tensor as it lies. A kernel of whole
// rows does not: that is what becomes of a reduction whose result is spread over its rows again.
func (f *partitioner) foldsAcross(in *ops.Instr, operand ops.Type) bool {
	n := &f.nodes[f.made[in.Outs[0].ID]]
	if n.kept || !f.t.Allows(lowering.RuleReduceIn) {
		return false
	}
	some := false
	for _, u := range n.users {
		v := &f.nodes[u]
		if !v.live {
			continue
		}
		if v.pattern != patternReduction || !f.caps.FoldsAcross(v.in, in, operand, f.t) || f.spreads(v, v.in.Outs[0].Type.Size()) {
			return false
		}
		some = true
	}
	return some
}

// spreads reports whether views of a value or operations on its elements have more than size elements.
func (f *partitioner) spreads(n *node, size int) bool {
	seen := map[int]bool{}
	for list := slices.Clone(n.users); len(list) > 0; {
		u := list[len(list)-1]
		list = list[:len(list)-1]
		v := &f.nodes[u]
		if seen[u] || !v.live || v.pattern != patternElementwise && v.pattern != patternView {
			continue
		}
		if v.in.Outs[0].Type.Size() > size {
			return true
		}
		seen[u] = true
		list = append(list, v.users...)
	}
	return false
}
