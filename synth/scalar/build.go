package scalar

import (
	"math/bits"
	"slices"
	"strings"
)

// builder collects the nodes of one Func. It folds what is constant, applies
// the identities that hold bit for bit, and gives equal operations one node.
type builder struct {
	name   string
	params []Type
	nodes  []Node
	known  map[nodeKey]int32
}

// nodeKey is what makes two nodes the same operation.
type nodeKey struct {
	op    Op
	typ   Type
	args  string
	bits  uint64
	index int
	table *uint64
	slow  *Func
}

func newBuilder(name string, params []Type) *builder {
	return &builder{name: name, params: params, known: map[nodeKey]int32{}}
}

func (b *builder) typ(n int32) Type { return b.nodes[n].Type }

// constant returns the node of a constant.
func (b *builder) constant(t Type, value uint64) int32 {
	return b.add(Node{Op: Const, Type: t, Bits: value & widthMask(t)})
}

func (b *builder) param(i int) int32 {
	return b.add(Node{Op: Param, Type: b.params[i], Index: i})
}

// op returns the node of an operation whose only content is its operands.
func (b *builder) op(o Op, t Type, args ...int32) int32 {
	return b.add(Node{Op: o, Type: t, Args: args})
}

// add returns the node of an operation, simplified where it can be.
func (b *builder) add(n Node) int32 {
	if same, ok := b.simplify(&n); ok {
		return same
	}
	key := nodeKey{op: n.Op, typ: n.Type, args: argsKey(n.Args), bits: n.Bits, index: n.Index, slow: n.Slow}
	if n.Op == Lookup {
		key.table = &n.Table[0]
	}
	if i, ok := b.known[key]; ok {
		return i
	}
	i := int32(len(b.nodes))
	b.nodes = append(b.nodes, n)
	b.known[key] = i
	return i
}

func argsKey(args []int32) string {
	var s strings.Builder
	for _, a := range args {
		s.Write([]byte{byte(a), byte(a >> 8), byte(a >> 16)})
	}
	return s.String()
}

// finish returns the Func with the given results, one or two, without the
// nodes that it does not need. A single result is the last node: its operands
// precede it.
func (b *builder) finish(results ...int32) *Func {
	live := make([]bool, len(b.nodes))
	for _, r := range results {
		live[r] = true
	}
	last := slices.Max(results)
	for i := last; i >= 0; i-- {
		if live[i] {
			for _, a := range b.nodes[i].Args {
				live[a] = true
			}
		}
	}
	f := &Func{Name: b.name, Params: b.params}
	moved := make([]int32, len(b.nodes))
	for i := int32(0); i <= last; i++ {
		if !live[i] {
			continue
		}
		n := b.nodes[i]
		var args []int32
		for _, a := range n.Args {
			args = append(args, moved[a])
		}
		n.Args = args
		moved[i] = int32(len(f.Nodes))
		f.Nodes = append(f.Nodes, n)
	}
	if len(results) > 1 {
		f.Pair = []int32{moved[results[0]], moved[results[1]]}
	}
	return f
}

// simplify returns a node that already has the value of n.
func (b *builder) simplify(n *Node) (int32, bool) {
	if len(n.Args) == 0 {
		return 0, false
	}
	if b.allConst(n.Args) && !b.undefined(n) {
		return b.constant(n.Type, b.fold(n)), true
	}
	switch n.Op {
	case Select:
		return b.simplifySelect(n)
	case Rare:
		if c := &b.nodes[n.Args[0]]; c.Op == Const && c.Bits == 0 {
			return n.Args[1], true
		}
	case AndB, OrB:
		return b.simplifyLogic(n)
	case NotB:
		if a := &b.nodes[n.Args[0]]; a.Op == NotB {
			return a.Args[0], true
		}
	case Add, Sub, Or, Xor, Shl, Shr:
		if n.Type.Int() && b.isConst(n.Args[1], 0) {
			return n.Args[0], true
		}
	case And:
		if b.isConst(n.Args[1], widthMask(n.Type)) {
			return n.Args[0], true
		}
	case Bitcast, Convert, Lo, Hi:
		return b.simplifyCast(n)
	}
	return 0, false
}

// undefined says whether an operation on constants has no value: it is left
// to the device, in case the result is not selected.
func (b *builder) undefined(n *Node) bool {
	switch n.Op {
	case Div, Rem:
		return n.Type.Int() && b.isConst(n.Args[1], 0)
	case Lookup:
		return b.nodes[n.Args[0]].Bits >= uint64(len(n.Table))
	}
	return false
}

func (b *builder) simplifySelect(n *Node) (int32, bool) {
	c := &b.nodes[n.Args[0]]
	switch {
	case n.Args[1] == n.Args[2]:
		return n.Args[1], true
	case c.Op == Const && c.Bits != 0:
		return n.Args[1], true
	case c.Op == Const:
		return n.Args[2], true
	case n.Type == Bool && b.isConst(n.Args[1], 1) && b.isConst(n.Args[2], 0):
		return n.Args[0], true
	}
	return 0, false
}

// simplifyLogic knows the neutral and the absorbing operand.
func (b *builder) simplifyLogic(n *Node) (int32, bool) {
	neutral := uint64(1)
	if n.Op == OrB {
		neutral = 0
	}
	for i, a := range n.Args {
		switch {
		case b.isConst(a, neutral):
			return n.Args[1-i], true
		case b.isConst(a, 1-neutral):
			return a, true
		}
	}
	return n.Args[0], n.Args[0] == n.Args[1]
}

func (b *builder) simplifyCast(n *Node) (int32, bool) {
	a := &b.nodes[n.Args[0]]
	switch {
	case n.Op == Lo && a.Op == Pack:
		return a.Args[0], true
	case n.Op == Hi && a.Op == Pack:
		return a.Args[1], true
	case (n.Op == Bitcast || n.Op == Convert) && a.Type == n.Type:
		return n.Args[0], true
	case n.Op == Bitcast && a.Op == Bitcast:
		return b.op(Bitcast, n.Type, a.Args[0]), true
	}
	return 0, false
}

func (b *builder) allConst(args []int32) bool {
	for _, a := range args {
		if b.nodes[a].Op != Const {
			return false
		}
	}
	return true
}

// isConst says whether a node is the constant with the given bits.
func (b *builder) isConst(n int32, value uint64) bool {
	return b.nodes[n].Op == Const && b.nodes[n].Bits == value
}

// fold computes a node with constant operands.
func (b *builder) fold(n *Node) uint64 {
	args := make([]uint64, len(n.Args))
	for i, a := range n.Args {
		args[i] = b.nodes[a].Bits
	}
	return Model{}.apply(n, b.typ(n.Args[0]), args)
}

// widthMask has the bits that a value of the type may have set.
func widthMask(t Type) uint64 { return ^uint64(0) >> (64 - uint(t.Width())) }

// msb returns the index of the highest set bit, -1 for 0.
func msb(x uint32) int32 { return int32(bits.Len32(x)) - 1 }
