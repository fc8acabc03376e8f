package placement

import (
	"slices"

	"nxvk/fallback"
	"nxvk/gen/exec/kernels"
	"nxvk/ops"
)

// Where the device is a processor, host and device share the processors and the memory. The
// kernels of such a device are quick where they compute much for each element, and slow where
// elements move: they compute the address of each, and a driver takes a tenth of a second to
// compile them. So the host computes some instructions in the device's stead, by the routine of
// package fallback. The results do not tell: either the routine gives the bits of the kernel, or
// no fusion has the device compute the instruction either. What the routine gives counts as the
// device's, so whatever follows is placed as if the device had computed it.

// Stead says when the host computes an instruction in the stead of a processor.
type Stead uint8

// The rules. By all but the first and the last, the routine gives the bits of the kernel.
const (
	Never    Stead = iota // the bits may differ
	WhenCold              // until the kernel is compiled
	Alone                 // but where a fusion computes it together with others
	Sooner                // the routine is quicker than a kernel that does nothing else
	Always                // the bits may differ, and the routine is much quicker
)

// aloneLimit is up to how many elements a routine takes less time than the device takes to begin.
const aloneLimit = 32 << 10

// InStead returns the rule for an instruction on operands of types.
func InStead(in *ops.Instr, types []ops.Type) Stead {
	if len(in.Regions) > 0 {
		return Never
	}
	switch in.Op {
	case ops.Constant, ops.Iota, ops.Eye:
		return given(!in.Outs[0].Type.DType.IsComplex(), Alone)
	case ops.Conjugate, ops.RealPart, ops.Imag:
		return WhenCold // each part of the result is one of an operand
	case ops.Remainder, ops.Pow:
		exact := integers(in, types) || in.Op == ops.Remainder
		return given(exact && alike(in, types), unlessLittle(in.Outs[0].Type.Size()))
	case ops.BroadcastTo, ops.Transpose, ops.Pad, ops.Reverse, ops.Slice, ops.PutSlice, ops.Concatenate, ops.Stack:
		return given(moves(in, types), Sooner)
	case ops.Gather, ops.Take, ops.TakeAlongAxis:
		return Sooner
	case ops.IndexedPut:
		return given(types[0].DType == types[2].DType, Sooner)
	case ops.IndexedAdd:
		if integers(in, types) {
			return WhenCold
		}
		return Always // the routine rounds a sum once, the kernel after each update
	case ops.ArgMax, ops.ArgMin:
		return given(!types[0].DType.IsComplex(), Sooner)
	case ops.ReduceMax, ops.ReduceMin, ops.All, ops.Any:
		return given(!types[0].DType.IsComplex(), reduces(in, types[0]))
	case ops.Sum, ops.Product:
		return given(integers(in, types), reduces(in, types[0]))
	case ops.CumulativeMax, ops.CumulativeMin, ops.WindowMax, ops.WindowMin, ops.Sort, ops.Argsort, ops.TopK:
		return given(!types[0].DType.IsComplex(), WhenCold)
	case ops.FFT, ops.IFFT, ops.FFT2, ops.IFFT2, ops.RFFT, ops.IRFFT:
		return given(slices.ContainsFunc(in.Attrs[0], awkward), Always)
	case ops.CumulativeSum, ops.CumulativeProduct, ops.WindowSum, ops.WindowProduct, ops.Dot, ops.Conv:
		return given(integers(in, types), WhenCold)
	}
	switch {
	case !correctlyRounded[in.Op] || !alike(in, types):
		return Never
	case quick(in, types):
		return Alone
	}
	return unlessLittle(in.Outs[0].Type.Size())
}

// awkward reports whether a transform of so many points has a prime factor from 17 to 127 as its largest. The device
// takes a convolution where it is above 13 (package synth/fft). The host sums the terms of a factor one by one, which is
// three to eight times as quick, but takes a time that grows with the factor.
func awkward(n int) bool {
	const least, most = 17, 127
	largest := 1
	for p := 2; p*p <= n; p++ {
		for ; n%p == 0; n /= p {
			largest = p
		}
	}
	largest = max(largest, n)
	return least <= largest && largest <= most
}

// unlessLittle is the rule for a routine that is quicker than the device with few elements alone.
func unlessLittle(elements int) Stead {
	if elements <= aloneLimit {
		return Alone
	}
	return WhenCold
}

// reduces is the rule for a reduction whose bits do not depend on the order. Kernels are quick where the
// elements of a result lie apart, so that neighbours reduce to neighbours. Where the last axes are reduced,
// the host is quicker for sums of integers and for what ends at the first element that decides it.
// Where one result is left, it is so for all that have wide elements.
func reduces(in *ops.Instr, of ops.Type) Stead {
	quick := false
	switch {
	case !reducesLast(in, of):
	case in.Op == ops.Any, in.Op == ops.Sum:
		quick = true
	case in.Outs[0].Type.Size() > 1:
	case in.Op == ops.All:
		quick = of.DType.Size() >= 4
	case in.Op == ops.ReduceMax, in.Op == ops.ReduceMin:
		quick = of.DType == ops.F32 || of.DType == ops.S32
	}
	if quick {
		return Alone
	}
	return unlessLittle(of.Size())
}

// reducesLast reports whether the elements of each result lie side by side.
func reducesLast(in *ops.Instr, of ops.Type) bool {
	found := false
	for axis, n := range of.Shape {
		reduced := slices.Contains(in.Attrs[0], axis)
		if found && !reduced && n > 1 {
			return false
		}
		found = found || reduced && n > 1
	}
	return found
}

// quick reports whether the host computes a pointwise operation as quickly as it reads memory, which
// is sooner than the device does: it has a loop for the type, or moves or widens elements.
func quick(in *ops.Instr, types []ops.Type) bool {
	of := types[0].DType
	switch in.Op {
	case ops.Select:
		return true
	case ops.AsType:
		return in.Outs[0].Type.DType.Size() >= 4 && (of.Size() >= 4 || slices.Contains(widened, of))
	case ops.BitwiseNot:
		return fallback.HasLoop(ops.BitwiseAnd, of)
	case ops.Ceil, ops.Floor, ops.Round:
		return of == ops.F64
	case ops.Divide:
		return of.Size() >= 4
	}
	return fallback.HasLoop(in.Op, of)
}

// widened are the narrow types that the host converts to wide ones as quickly as it reads memory.
var widened = []ops.DType{ops.U8, ops.S8, ops.U16, ops.S16, ops.BF16, ops.F16}

// What the passes of a fusion take, by the time that the host takes for one over memory.
const (
	hostMoves = 1 // a routine that reads and writes memory and does little else
	hostCalls = 3 // any other routine
	kernel    = 1 // the kernel of a fusion
	gathers   = 3 // the same, for each value whose elements it finds by an address of their own
)

// Divides reports whether the host computes the instructions of a fusion one by one in the
// device's stead.
func Divides(body []kernels.Instr) bool {
	host, device, widest, same := 0, 0, 0, true
	for _, in := range body {
		size := 0
		for _, o := range in.Outs {
			size += o.Type.Size()
		}
		rule := InStead(in.Instr, in.Types)
		if len(in.Types) > 0 && in.Op.Info().Kind != ops.Index && in.Op != ops.Slice {
			size = max(size, in.Types[0].Size())
		}
		widest = max(widest, size)
		switch rule {
		case Always:
			return true
		case Never:
			same = false
		case Sooner:
			if host += hostMoves * size; in.Op != ops.BroadcastTo {
				device += gathers * size
			}
		case Alone:
			host += hostMoves * size
		default:
			host += hostCalls * size
		}
	}
	return same && host <= device+kernel*widest
}

// enoughToJoin is from how many instructions on a kernel for all takes the host less time than each by its routine.
const enoughToJoin = 6

// Joins reports whether one kernel computes the instructions of a fusion of little work on the host: there are
// enough, and it gives the bits of their routines.
func Joins(body []kernels.Instr) bool {
	return len(body) >= enoughToJoin && !slices.ContainsFunc(body, func(in kernels.Instr) bool { return !sameBits(in.Instr, in.Types) })
}

// sameBits reports whether the routine of an instruction gives the bits of its kernel: that of integers whose type
// is the merged one of the operands, or above it, and where InStead says so.
func sameBits(in *ops.Instr, types []ops.Type) bool {
	rule := InStead(in, types)
	return rule != Never && rule != Always || in.Op.Info().Kind == ops.Pointwise && integers(in, types) && merges(in, computed(in, types)) ||
		len(types) > 0 && (in.Op == ops.Bitcast || in.KeepsOrder(types[0]))
}

// correctlyRounded are pointwise operations whose result IEEE 754 or the type defines to the
// last bit.
var correctlyRounded = func() (is [ops.Count]bool) {
	for _, op := range []ops.Op{
		ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.Min, ops.Max, ops.Quotient,
		ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.BitwiseNot, ops.LeftShift, ops.RightShift,
		ops.Equal, ops.NotEqual, ops.Greater, ops.Less, ops.GreaterEqual, ops.LessEqual,
		ops.LogicalAnd, ops.LogicalOr, ops.LogicalXor, ops.LogicalNot, ops.IsNaN, ops.IsInfinity,
		ops.Abs, ops.Ceil, ops.Floor, ops.Round, ops.Sign, ops.Negate, ops.CountLeadingZeros, ops.PopulationCount,
		ops.Select, ops.Clip, ops.AsType,
	} {
		is[op] = true
	}
	return is
}()

// given is a rule under a condition.
func given(holds bool, rule Stead) Stead {
	if holds {
		return rule
	}
	return Never
}

// alike reports whether an instruction computes in the type of its operands, which is real. The
// predicate of a choice may be of any.
func alike(in *ops.Instr, types []ops.Type) bool {
	of := computed(in, types)
	complex := func(t ops.Type) bool { return t.DType.IsComplex() }
	return !slices.ContainsFunc(types, complex) && !slices.ContainsFunc(of, func(t ops.Type) bool { return t.DType != of[0].DType }) &&
		(!integers(in, types) || merges(in, of)) && (in.Op == ops.AsType && !in.Outs[0].Type.DType.IsComplex() || in.Op != ops.AsType)
}

// computed are the types of the operands that an instruction computes with: all but the predicate of a choice.
func computed(in *ops.Instr, types []ops.Type) []ops.Type {
	if in.Op == ops.Select {
		return types[1:]
	}
	return types
}

// merges reports whether an instruction on integers computes in the type to which its operands merge, or in one above it. In a
// narrower one a kernel converts the operands before it computes, and a routine what it has computed. That gives the same bits
// where those of a result depend on the lower ones of the operands alone.
func merges(in *ops.Instr, types []ops.Type) bool {
	to := in.Outs[0].Type.DType
	switch in.Op {
	case ops.Add, ops.Subtract, ops.Multiply, ops.Negate, ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.BitwiseNot:
		return true
	}
	return in.Op == ops.AsType || in.Op.Info().Compare || !slices.ContainsFunc(types, func(t ops.Type) bool { return ops.Merge(t.DType, to) != to })
}

// moves reports whether the elements of a result are those of operands, bit for bit.
func moves(in *ops.Instr, types []ops.Type) bool {
	n := len(types)
	switch in.Op {
	case ops.Slice:
		n = 1 // where it begins comes after it
	case ops.PutSlice:
		n = 2
	}
	return !slices.ContainsFunc(types[:n], func(t ops.Type) bool { return t.DType != in.Outs[0].Type.DType })
}

// integers reports whether all operands and results are integers.
func integers(in *ops.Instr, types []ops.Type) bool {
	return !slices.ContainsFunc(types, func(t ops.Type) bool { return !t.DType.IsInteger() }) &&
		!slices.ContainsFunc(in.Outs, func(r ops.Result) bool { return !r.Type.DType.IsInteger() })
}
