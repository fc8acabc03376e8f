package ops

// The operations, by family, each block above the rows that describe it.
const (
	// table_control.go
	Free Op = iota
	Import
	Program
	Run
	Cancel
	Shader
	Forget
	Note
	While
	Branch
	Hook
	Callback
	OptimizationBarrier
	Constant
	Tensor
	Iota
	Eye

	// table_binary.go
	Add
	Subtract
	Multiply
	Pow
	Remainder
	Divide
	Atan2
	Min
	Max
	Quotient
	BitwiseAnd
	BitwiseOr
	BitwiseXor
	LeftShift
	RightShift
	Equal
	NotEqual
	Greater
	Less
	GreaterEqual
	LessEqual
	LogicalAnd
	LogicalOr
	LogicalXor

	// table_unary.go
	Exp
	Expm1
	Log
	Log1p
	Sigmoid
	Cos
	Sin
	Tan
	Cosh
	Sinh
	Tanh
	Acos
	Asin
	Atan
	Acosh
	Asinh
	Atanh
	Sqrt
	Rsqrt
	Cbrt
	Erf
	Erfc
	ErfInv
	Abs
	BitwiseNot
	Ceil
	Conjugate
	Floor
	Negate
	Round
	Sign
	CountLeadingZeros
	PopulationCount
	RealPart
	Imag
	IsNaN
	IsInfinity
	LogicalNot
	Select
	Clip
	AsType

	// table_reduce.go
	Sum
	Product
	ReduceMax
	ReduceMin
	All
	Any
	ArgMax
	ArgMin

	// table_shape.go
	Bitcast
	Reshape
	Squeeze
	BroadcastTo
	Transpose
	Pad
	Reverse
	Slice
	PutSlice
	Concatenate
	Stack
	Dot

	// table_index.go
	Gather
	Take
	TakeAlongAxis
	IndexedAdd
	IndexedPut

	// table_window.go
	WindowSum
	WindowProduct
	WindowMax
	WindowMin
	WindowScatterMax
	WindowScatterMin
	Conv

	// table_order.go
	Sort
	Argsort
	TopK
	CumulativeSum
	CumulativeProduct
	CumulativeMin
	CumulativeMax

	// table_transform.go
	FFT
	IFFT
	FFT2
	IFFT2
	RFFT
	IRFFT
	Phase

	// table_linalg.go
	TriangularSolve
	Cholesky
	Solve
	QR
	Eigh
	SVD
	LU
	Determinant

	// table_reduce.go: by a function
	ReduceFun
	WindowReduce

	// table_composite.go
	Attention

	// table_collective.go
	AllReduce
	AllGather
	ReduceScatter
	AllToAll
	CollectiveBroadcast

	Count // the number of operations
)

// table has one row an operation, filled from the blocks of its family. The
// rows of reductions by a function check instructions, which looks rows up: so
// init fills it.
var table [Count]Info

// byName finds an operation by its name.
var byName = make(map[string]Op, Count)

func init() {
	for _, block := range []map[Op]Info{
		controlRows, binaryRows, unaryRows, reduceRows, shapeRows,
		indexRows, windowRows, orderRows, transformRows, linalgRows, foldRows, compositeRows, collectiveRows,
	} {
		for op, row := range block {
			enter(op, row)
		}
	}
}

func enter(op Op, row Info) {
	if table[op].Name != "" {
		panic("BUG: operation " + row.Name + " has two rows")
	}
	if row.Results == 0 && row.Kind != Control {
		row.Results = 1
	}
	table[op] = row
	byName[row.Name] = op
}
