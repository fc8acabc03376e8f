package factor

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Job gathers the steps of one factorisation of a batch of matrices, in f32,
// f64, c64 or c128. A matrix is worked on in place, a block of columns at a time:
//
//	panel    one workgroup factors a few columns, in registers
//	update   what lies to the right loses their product, tile by tile
//
// Small matrices are one panel. No step waits for the host: what only the values
// can tell (pivots, whether rotations go on) stays in memory of the device and
// later steps look there. A check of its plan reports that a system has no solution.
//
// Where the device is a processor everything is the host's: its LAPACK needs no
// plan.
type Job struct {
	*dot.Builder
	In    *ops.Instr
	Types []ops.Type
	Typ   scalar.Type // in kernels
	Count int         // of matrices
	Err   error
	Late  []func() // conversions of results
}

// Choose finds the type of computation, which has room for those of operands and
// results.
func (j *Job) Choose(types []ops.Type) error {
	complex, double := false, false
	for _, typ := range types {
		if typ.Shape.Size() >= 1<<29 {
			return lowering.Unsupported("matrices of 2^29 elements")
		}
		complex = complex || typ.DType.IsComplex()
		double = double || typ.DType.Real() == ops.F64
	}
	j.Wide, j.Typ = ops.F32, scalar.F32
	switch {
	case complex && double:
		j.Wide, j.Typ = ops.C128, scalar.C128
	case complex:
		j.Wide, j.Typ = ops.C64, scalar.C64
	case double:
		j.Wide, j.Typ = ops.F64, scalar.F64
	}
	return nil
}

// OutTypes lists the types of the results of an instruction.
func OutTypes(in *ops.Instr) []ops.Type {
	var types []ops.Type
	for _, o := range in.Outs {
		types = append(types, o.Type)
	}
	return types
}

// Matrices is a batch of matrices within a buffer: element (i, j) of matrix b is
// at off + b*batch + i*row + j*col. Strides may be negative.
type Matrices struct {
	Ref                  lowering.Ref
	Elems                int // of the buffer
	Off, Row, Col, Batch int
	Conj                 bool // stands for the conjugates, which products, turns and orderings read
}

// Dense is a batch of m by n matrices, row by row, that fill a buffer.
func (j *Job) Dense(ref lowering.Ref, m, n int) Matrices {
	return Matrices{Ref: ref, Elems: j.Count * m * n, Row: n, Col: 1, Batch: m * n}
}

// Fresh is a batch of m by n matrices in a temporary.
func (j *Job) Fresh(m, n int) Matrices {
	return j.Dense(j.NewTemp(j.Count*m*n*j.Wide.Size()), m, n)
}

// From is the matrix that begins at element (i, k).
func (s Matrices) From(i, k int) Matrices {
	s.Off += i*s.Row + k*s.Col
	return s
}

// along reports whether neighbours in memory are those of a row.
func (s Matrices) along() bool { return s.Col == 1 || s.Col == -1 }

// Transposed is the matrix with rows and columns exchanged.
func (s Matrices) Transposed() Matrices {
	s.Row, s.Col = s.Col, s.Row
	return s
}

// Conjugate is the matrix of complex conjugates.
func (j *Job) Conjugate(s Matrices) Matrices {
	s.Conj = j.Typ.Complex() && !s.Conj
	return s
}

// Adjoint is that of the transposed matrix.
func (j *Job) Adjoint(s Matrices) Matrices { return j.Conjugate(s.Transposed()) }

// Backward is a matrix of m by n with its rows and columns in reverse.
func (s Matrices) Backward(m, n int) Matrices {
	s = s.From(m-1, n-1)
	s.Row, s.Col = -s.Row, -s.Col
	return s
}

// Operand is operand i in the type of computation, as matrices of m by n.
func (j *Job) Operand(i, m, n int) Matrices {
	lit, typ := j.In.Ins[i].Lit, j.Types[i]
	if lit == nil && typ.DType == j.Wide {
		return j.Dense(lowering.Ref{Kind: lowering.Operand, Index: i}, m, n)
	}
	to := j.Fresh(m, n)
	j.Try(j.AddConversion(typ, j.Wide, lowering.Ref{Kind: lowering.Operand, Index: i}, lit, to.Ref))
	return to
}

// Result is result i, as matrices of m by n in the type of computation.
func (j *Job) Result(i, m, n int) Matrices {
	out := j.In.Outs[i].Type
	if out.DType == j.Wide {
		return j.Dense(lowering.Ref{Kind: lowering.Result, Index: i}, m, n)
	}
	from := j.Fresh(m, n)
	j.Late = append(j.Late, func() {
		j.Try(j.AddConversion(ops.Type{DType: j.Wide, Shape: out.Shape}, out.DType, from.Ref, nil, lowering.Ref{Kind: lowering.Result, Index: i}))
	})
	return from
}

// Eps is the distance from 1 to the next number.
func (j *Job) Eps() float64 { return Arith{T: j.Typ}.Eps() }

// Narrow is n, or a part of it on devices with little shared memory, whose
// compilers take long over wide panels as well.
func (j *Job) Narrow(n int) int {
	if j.Target.SharedMemory < 48<<10 {
		return n / 4
	}
	return n
}

// Words is how many registers of 32 bits an element takes.
func (j *Job) Words() int { return j.Wide.Size() / 4 }

// Try keeps the first error.
func (j *Job) Try(err error) {
	if j.Err == nil {
		j.Err = err
	}
}

// Run appends a step.
func (j *Job) Run(p *codegen.Program) {
	p.Index = scalar.U32
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	s, err := codegen.NewStep(j.Target, p)
	j.Try(err)
	j.Plan.Steps = append(j.Plan.Steps, s)
}

// Buffer is how a step reaches matrices.
func (j *Job) Buffer(s Matrices, access lowering.Access) codegen.Buffer {
	b := codegen.BufferOf(s.Ref, j.Wide)
	b.Access, b.Bytes = access, int64(s.Elems*j.Wide.Size())
	return b
}

// Words is how a step reaches a temporary of whole numbers.
func Words(ref lowering.Ref, n int, access lowering.Access) codegen.Buffer {
	return codegen.Buffer{Ref: ref, Elem: kernel.U32, Access: access, Bytes: int64(4 * n)}
}

// Places are the numbers of a program that say where matrices lie.
func Places(list ...Matrices) []int {
	var nums []int
	for _, s := range list {
		nums = append(nums, s.Off, s.Row, s.Col, s.Batch)
	}
	return nums
}

// Side is the number of rows of the first operand.
func (j *Job) Side() int {
	s := j.Types[0].Shape
	return s[len(s)-2]
}
