package synth

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// linalg gathers the steps of one factorisation of a batch of matrices, in f32,
// f64, c64 or c128. A matrix is worked on in place, a block of columns at a time:
//
//	panel    one workgroup factors a few columns, in registers
//	update   what lies to the right loses their product, tile by tile
//
// Small matrices are one panel. No step waits for the host: what only the values
// can tell (pivots, whether rotations go on) stays in memory of the device and
// later steps look there. That a system has no solution is the status of its plan.
//
// Where the device is a processor everything is the host's: its LAPACK needs no
// plan.
type linalg struct {
	*dot
	in    *ops.Instr
	types []ops.Type
	typ   scalar.Type // in kernels
	count int         // of matrices
	err   error
	late  []func() // conversions of results
}

// factorisations are the lowerings of the operations, called with a linalg that
// is ready to take steps.
var factorisations = map[ops.Op]func(*linalg){
	ops.TriangularSolve: (*linalg).triangularSolve,
	ops.Cholesky:        (*linalg).cholesky,
	ops.LU:              (*linalg).lu,
	ops.QR:              (*linalg).qr,
	ops.Eigh:            (*linalg).eigh,
	ops.SVD:             (*linalg).svd,
	ops.Solve:           (*linalg).solve,
	ops.Determinant:     (*linalg).determinant,
}

// lowerLinAlg plans the operations on matrices.
func lowerLinAlg(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	plan, ok := factorisations[in.Op]
	switch {
	case !ok:
		return nil, unsupported("%v is computed on the host", in.Op)
	case t.CPU:
		return nil, unsupported("factors are computed on the host where the device is a processor")
	}
	j := &linalg{dot: &dot{plan: &Plan{Alias: -1}, t: t}, in: in, types: types}
	if err := j.choose(append(outTypes(in), types...)); err != nil {
		return nil, err
	}
	s := types[0].Shape
	j.count = s.Size() / (s[len(s)-1] * s[len(s)-2])
	plan(j)
	for _, convert := range j.late {
		convert()
	}
	return j.plan, j.err
}

// choose finds the type of computation, which has room for those of operands and
// results.
func (j *linalg) choose(types []ops.Type) error {
	complex, double := false, false
	for _, typ := range types {
		if typ.Shape.Size() >= 1<<29 {
			return unsupported("matrices of 2^29 elements")
		}
		complex = complex || typ.DType.IsComplex()
		double = double || typ.DType.Real() == ops.F64
	}
	j.wide, j.typ = ops.F32, scalar.F32
	switch {
	case complex && double:
		j.wide, j.typ = ops.C128, scalar.C128
	case complex:
		j.wide, j.typ = ops.C64, scalar.C64
	case double:
		j.wide, j.typ = ops.F64, scalar.F64
	}
	return nil
}

func outTypes(in *ops.Instr) []ops.Type {
	var types []ops.Type
	for _, o := range in.Outs {
		types = append(types, o.Type)
	}
	return types
}

// strided is a batch of matrices within a buffer: element (i, j) of matrix b is
// at off + b*batch + i*row + j*col. Strides may be negative.
type strided struct {
	ref                  Ref
	elems                int // of the buffer
	off, row, col, batch int
	conj                 bool // stands for the conjugates, which products, turns and orderings read
}

// dense is a batch of m by n matrices, row by row, that fill a buffer.
func (j *linalg) dense(ref Ref, m, n int) strided {
	return strided{ref: ref, elems: j.count * m * n, row: n, col: 1, batch: m * n}
}

// fresh is a batch of m by n matrices in a temporary.
func (j *linalg) fresh(m, n int) strided {
	return j.dense(j.temp(j.count*m*n*j.wide.Size()), m, n)
}

// from is the matrix that begins at element (i, k).
func (s strided) from(i, k int) strided {
	s.off += i*s.row + k*s.col
	return s
}

// along reports whether neighbours in memory are those of a row.
func (s strided) along() bool { return s.col == 1 || s.col == -1 }

// transposed is the matrix with rows and columns exchanged.
func (s strided) transposed() strided {
	s.row, s.col = s.col, s.row
	return s
}

// conjugate is the matrix of complex conjugates.
func (j *linalg) conjugate(s strided) strided {
	s.conj = j.typ.Complex() && !s.conj
	return s
}

// adjoint is that of the transposed matrix.
func (j *linalg) adjoint(s strided) strided { return j.conjugate(s.transposed()) }

// backward is a matrix of m by n with its rows and columns in reverse.
func (s strided) backward(m, n int) strided {
	s = s.from(m-1, n-1)
	s.row, s.col = -s.row, -s.col
	return s
}

// operand is operand i in the type of computation, as matrices of m by n.
func (j *linalg) operand(i, m, n int) strided {
	lit, typ := j.in.Ins[i].Lit, j.types[i]
	if lit == nil && typ.DType == j.wide {
		return j.dense(Ref{Operand, i}, m, n)
	}
	to := j.fresh(m, n)
	j.try(j.convert(typ, j.wide, Ref{Operand, i}, lit, to.ref))
	return to
}

// result is result i, as matrices of m by n in the type of computation.
func (j *linalg) result(i, m, n int) strided {
	out := j.in.Outs[i].Type
	if out.DType == j.wide {
		return j.dense(Ref{Result, i}, m, n)
	}
	from := j.fresh(m, n)
	j.late = append(j.late, func() {
		j.try(j.convert(ops.Type{DType: j.wide, Shape: out.Shape}, out.DType, from.ref, nil, Ref{Result, i}))
	})
	return from
}

// eps is the distance from 1 to the next number.
func (j *linalg) eps() float64 { return arith{t: j.typ}.eps() }

// narrow is n, or a part of it on devices with little shared memory, whose
// compilers take long over wide panels as well.
func (j *linalg) narrow(n int) int {
	if j.t.SharedMemory < 48<<10 {
		return n / 4
	}
	return n
}

// words is how many registers of 32 bits an element takes.
func (j *linalg) words() int { return j.wide.Size() / 4 }

// try keeps the first error.
func (j *linalg) try(err error) {
	if j.err == nil {
		j.err = err
	}
}

// run appends a step.
func (j *linalg) run(p *program) {
	p.index = scalar.U32
	for _, b := range p.bufs {
		p.bytes += b.bytes
	}
	s, err := j.t.step(p)
	j.try(err)
	j.plan.Steps = append(j.plan.Steps, s)
}

// buffer is how a step reaches matrices.
func (j *linalg) buffer(s strided, access Access) buffer {
	b := bufferOf(s.ref, j.wide)
	b.access, b.bytes = access, int64(s.elems*j.wide.Size())
	return b
}

// words is how a step reaches a temporary of whole numbers.
func words(ref Ref, n int, access Access) buffer {
	return buffer{ref: ref, elem: kernel.U32, access: access, bytes: int64(4 * n)}
}

// places are the numbers of a program that say where matrices lie.
func places(list ...strided) []int {
	var nums []int
	for _, s := range list {
		nums = append(nums, s.off, s.row, s.col, s.batch)
	}
	return nums
}
