package scalar

import "math/bits"

// Model says how the arithmetic of a device departs from IEEE 754. The zero
// Model is exact: Compile folds constants with it. Tests evaluate functions
// with the others, as devices would.
type Model struct {
	SplitFma  bool // Fma rounds the product before it adds
	Flush     bool // F32 arithmetic and comparison take subnormals for zeros and give zeros for them
	LooseDiv  bool // F32 Div and Sqrt are off by up to 2 units in the last place; with Flush, Div multiplies by a reciprocal
	LooseExp2 bool // F32 Exp2 and InverseSqrt are off by up to 1 unit
	DropNaN   bool // a float chosen by comparing it with the other is the minimum or maximum, which prefers a number to NaN
}

// maxOperands bounds the operands of a node: those of Rare, which are two more
// than the parameters of its function.
const maxOperands = 8

// Eval computes the function on the host as an exact device does. Arguments
// and result are bits, in the low bits of a word.
func (f *Func) Eval(args ...uint64) uint64 { return Model{}.Eval(f, args...) }

// Eval computes a function as a device of the model does. Of two results it
// gives the first.
func (m Model) Eval(f *Func, args ...uint64) uint64 {
	first, _ := m.EvalPair(f, args...)
	return first
}

// EvalPair computes a function of two results; of one it gives that twice.
func (m Model) EvalPair(f *Func, args ...uint64) (first, second uint64) {
	var space [128]uint64
	values := space[:]
	if len(f.Nodes) > len(space) {
		values = make([]uint64, len(f.Nodes))
	}
	var operands [maxOperands]uint64
	for i := range f.Nodes {
		n := &f.Nodes[i]
		switch n.Op {
		case Const:
			values[i] = n.Bits
		case Param:
			values[i] = args[n.Index]
		default:
			for k, a := range n.Args {
				operands[k] = values[a]
			}
			if m.DropNaN && n.Op == Select && n.Type.Float() {
				f.preferNumber(n, &operands)
			}
			values[i] = m.apply(n, f.Nodes[n.Args[0]].Type, operands[:len(n.Args)])
		}
	}
	if f.Pair != nil {
		return values[f.Pair[0]], values[f.Pair[1]]
	}
	return values[len(f.Nodes)-1], values[len(f.Nodes)-1]
}

// preferNumber makes both choices of a Select the number where the other is NaN
// and its condition compares the two.
func (f *Func) preferNumber(n *Node, operands *[maxOperands]uint64) {
	c := &f.Nodes[n.Args[0]]
	if c.Op != Lt && c.Op != Le {
		return
	}
	a, b := n.Args[1], n.Args[2]
	if !(c.Args[0] == a && c.Args[1] == b || c.Args[0] == b && c.Args[1] == a) {
		return
	}
	switch x, y := floatValue(n.Type, operands[1]), floatValue(n.Type, operands[2]); {
	case x != x:
		operands[1] = operands[2]
	case y != y:
		operands[2] = operands[1]
	}
}

// apply computes one node from its operands, the first of which has type t.
func (m Model) apply(n *Node, t Type, a []uint64) uint64 {
	switch n.Op {
	case Select:
		if a[0] != 0 {
			return a[1]
		}
		return a[2]
	case Rare:
		if a[0] != 0 {
			return m.Eval(n.Slow, a[2:]...)
		}
		return a[1]
	case Lookup:
		i := a[0]
		if t == I32 && int32(i) < 0 || i >= uint64(len(n.Table)) {
			panic("BUG: lookup outside the table")
		}
		return n.Table[i]
	case Convert:
		return convert(n.Type, t, a[0])
	case Bitcast:
		return a[0]
	case Pack:
		return a[1]<<32 | a[0]
	case Lo:
		return a[0] & 0xffffffff
	case Hi:
		return a[0] >> 32
	case AndB:
		return a[0] & a[1]
	case OrB:
		return a[0] | a[1]
	case NotB:
		return a[0] ^ 1
	}
	switch t {
	case F32:
		return m.apply32(n.Op, a)
	case F64:
		return m.apply64(n.Op, a)
	}
	return applyInt(n.Op, t, a)
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// applyInt computes an operation whose operands are integers of type t.
func applyInt(op Op, t Type, a []uint64) uint64 {
	mask := widthMask(t)
	x, y := a[0], uint64(0)
	if len(a) > 1 {
		y = a[1]
	}
	switch op {
	case Add:
		return (x + y) & mask
	case Sub:
		return (x - y) & mask
	case Mul:
		return (x * y) & mask
	case Neg:
		return -x & mask
	case And:
		return x & y
	case Or:
		return x | y
	case Xor:
		return x ^ y
	case Not:
		return ^x & mask
	case Shl:
		return x << y & mask
	case MulHi:
		return x * y >> 32
	case FindMSB:
		return uint64(uint32(msb(uint32(x))))
	case BitCount:
		return uint64(bits.OnesCount32(uint32(x)))
	case Eq:
		return boolBits(x == y)
	case Ne:
		return boolBits(x != y)
	}
	if t.Signed() {
		return applySigned(op, signed(t, x), signed(t, y), y) & mask
	}
	return applyUnsigned(op, x, y)
}

// applySigned computes what depends on the sign; count is y unextended.
func applySigned(op Op, x, y int64, count uint64) uint64 {
	switch op {
	case Div:
		return uint64(x / y)
	case Rem:
		return uint64(x % y)
	case Shr:
		return uint64(x >> count)
	case Lt:
		return boolBits(x < y)
	case Le:
		return boolBits(x <= y)
	}
	panic("BUG: operation without signed form")
}

func applyUnsigned(op Op, x, y uint64) uint64 {
	switch op {
	case Div:
		return x / y
	case Rem:
		return x % y
	case Shr:
		return x >> y
	case Lt:
		return boolBits(x < y)
	case Le:
		return boolBits(x <= y)
	}
	panic("BUG: operation without unsigned form")
}

// signed extends the sign of an integer of type t.
func signed(t Type, x uint64) int64 {
	if t.Width() == 32 {
		return int64(int32(x))
	}
	return int64(x)
}
