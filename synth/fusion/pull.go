package fusion

import (
	"slices"

	"nxvk/ops"
)

// pull is what computing a value again, where it is wanted, takes.
type pull struct {
	cost   int   // primitive operations an element
	reads  []int // nodes and, below zero, parameters in memory that it looks at
	tensor int   // how many of them have more than one element
}

// A value is computed again wherever it is wanted, rather than stored once and
// loaded, if that takes few operations an element and reads one tensor at most;
// a scalar may take more, since it would be a dispatch of its own.
const (
	cheapElement = 16
	cheapScalar  = 256
)

// pulls adds up what computing the value of a node again takes.
func (f *partitioner) pulls(n *node) pull {
	p := pull{cost: Cost(f.t, n.in, f.typesOf(n.in))}
	for _, o := range n.in.Ins {
		if o.Lit != nil {
			continue
		}
		j := f.number(o.ID)
		if j >= 0 && f.through(&f.nodes[j]) {
			p.cost += f.nodes[j].pull.cost
			for _, r := range f.nodes[j].pull.reads {
				p.read(f, r)
			}
			continue
		}
		p.read(f, j)
	}
	return p
}

func (p *pull) read(f *partitioner, j int) {
	if slices.Contains(p.reads, j) {
		return
	}
	p.reads = append(p.reads, j)
	if f.sizeOf(j) > 1 {
		p.tensor++
	}
}

// number is the node that makes a value or, below zero, the parameter that it is.
func (f *partitioner) number(id ops.ID) int {
	if j, ok := f.made[id]; ok {
		return j
	}
	return -1 - int(id)
}

// sizeOf is the number of elements of what a node makes or, below zero, of a
// parameter.
func (f *partitioner) sizeOf(j int) int {
	if j >= 0 {
		return f.nodes[j].in.Outs[0].Type.Size()
	}
	return f.types[ops.ID(-1-j)].Size()
}

// pullable reports whether an instruction is computed again wherever its value
// is wanted.
func (f *partitioner) pullable(n *node) bool {
	if n.pattern != patternElementwise || n.memory || len(n.pull.reads) > maxReads {
		return false
	}
	if n.in.Outs[0].Type.Size() == 1 {
		return n.pull.cost <= cheapScalar
	}
	return n.pull.cost <= cheapElement && n.pull.tensor <= 1
}

// maxReads bounds the values that a pulled one reads.
const maxReads = 4

// tiles reports whether a view is a transposition that a kernel of its own
// carries out better: one that reads a large tensor along another dimension than
// it writes.
func (f *partitioner) tiles(in *ops.Instr) bool {
	if in.Op != ops.Transpose {
		return false
	}
	return f.caps.Tiles(in, f.typeOf(in.Ins[0]), f.t)
}
