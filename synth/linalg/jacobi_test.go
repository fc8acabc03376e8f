package linalg_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/linalg/jacobi"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// symmetric copies the lower triangles to the upper ones.
func symmetric(x synthtest.Tensor, n int) synthtest.Tensor {
	for k := range matrices(x, n, n) {
		a := matrix(x, k, n, n)
		for i := range n {
			for c := range i {
				a.set(c, i, a.at(i, c))
			}
		}
	}
	return x
}

// eachJacobi calls f for few types and sizes: rotations take long to interpret.
func eachJacobi(t *testing.T, f func(target *lowering.Target, of ops.Type)) {
	for _, c := range []struct {
		target *lowering.Target
		of     ops.Type
	}{{synthtest.GPU, synthtest.Type(ops.F32, 1, 1)}, {small, synthtest.Type(ops.F64, 3, 2, 2)}, {synthtest.GPU, synthtest.Type(ops.F32, 2, 7, 7)}, {small, synthtest.Type(ops.F32, 70, 70)}} {
		f(c.target, c.of)
	}
}

// checkEigh decomposes symmetric matrices and checks the factors and their order.
func checkEigh(t *testing.T, target *lowering.Target, x synthtest.Tensor) (values []float64) {
	t.Helper()
	of := x.Typ
	n := of.Shape[len(of.Shape)-1]
	f := factorize(t, target, ops.Eigh, []ops.Type{{DType: of.DType, Shape: of.Shape[:len(of.Shape)-1]}, of}, nil, x)
	for b := range matrices(x, n, n) {
		a, v, l := matrix(x, b, n, n), matrix(f[1], b, n, n), newMat(n, n)
		for i := range n {
			if l.set(i, i, f[0].F[b*n+i]); i > 0 && math.Abs(l.at(i, i)) > math.Abs(l.at(i-1, i-1)) {
				t.Errorf("%v comes after %v", l.at(i, i), l.at(i-1, i-1))
			}
		}
		near(t, "v l v^T", of.DType, v.times(l).times(v.transposed()), a, a.norm())
		near(t, "v^T v", of.DType, v.transposed().times(v), identity(n), 1)
	}
	return f[0].F
}

func TestEigh(t *testing.T) {
	eachJacobi(t, func(target *lowering.Target, of ops.Type) {
		checkEigh(t, target, symmetric(gauss(of, 5), of.Shape[len(of.Shape)-1]))
	})
}

// Matrices of two and of four pairs of blocks; TestEigh has one of three.
func TestEighOfPairs(t *testing.T) {
	for _, c := range []struct {
		target *lowering.Target
		of     ops.Type
	}{{small, synthtest.Type(ops.F32, 2, 40, 40)}, {synthtest.GPU, synthtest.Type(ops.F64, 33, 33)}, {small, synthtest.Type(ops.F32, 97, 97)}} {
		checkEigh(t, c.target, symmetric(gauss(c.of, 7), c.of.Shape[len(c.of.Shape)-1]))
	}
}

// Eigenvalues over many magnitudes, and the same one many times.
func TestEighOfClusters(t *testing.T) {
	const n = 36
	graded, same := symmetric(gauss(synthtest.Type(ops.F32, n, n), 9), n), synthtest.Tensor{Typ: synthtest.Type(ops.F32, n, n)}
	for i := range n * n {
		graded.F[i] = float64(float32(graded.F[i] * math.Exp2(-float64(i/n+i%n)/2)))
		same.F = append(same.F, 1) // rank 1
	}
	checkEigh(t, small, graded)
	for i, v := range checkEigh(t, small, same) {
		if want := []float64{n, 0}[min(i, 1)]; math.Abs(v-want) > 1e-4 {
			t.Errorf("eigenvalue %d is %v, want %v", i, v, want)
		}
	}
}

// Matrices of a batch converge by themselves: one that is diagonal after the first
// sweep, and one that is not finite, whose results alone are NaN.
func TestEighEnds(t *testing.T) {
	const n = 40
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3, n, n), F: make([]float64, 3*n*n)}
	copy(x.F[2*n*n:], symmetric(gauss(synthtest.Type(ops.F32, n, n), 3), n).F)
	for i := range n {
		x.F[i*n+i], x.F[n*n+i*n+i] = float64(n-i), math.Inf(1)
	}
	values := synthtest.Type(ops.F32, 3, n)
	in := synthtest.Instr(ops.Eigh, values)
	in.Outs = append(in.Outs, ops.Result{ID: 100, Type: x.Typ})
	p, err := synthtest.Lower(t, small, in, x.Typ)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[lowering.RefKind][][]byte{lowering.Operand: {x.Bytes()}, lowering.Result: {make([]byte, values.Bytes()), make([]byte, x.Typ.Bytes())}}
	synthtest.Interpret(t, p, memory, nil)
	got, vectors := synthtest.FromBytes(values, memory[lowering.Result][0]), synthtest.FromBytes(x.Typ, memory[lowering.Result][1])
	for i := range n {
		if got.F[i] != float64(n-i) || vectors.F[i*n+i] != 1 || !math.IsNaN(got.F[n+i]) || math.IsNaN(got.F[2*n+i]) {
			t.Errorf("eigenvalue %d is %v, %v, %v", i, got.F[i], got.F[n+i], got.F[2*n+i])
		}
	}
	sweeps := sweepsOf(t, p, memory, 3)
	if sweeps[0] != 1 || sweeps[1] != 1 || sweeps[2] < 4 || sweeps[2] > 8 {
		t.Errorf("matrices took %v sweeps", sweeps)
	}
}

// sweepsOf is how many sweeps the matrices of a plan took.
func sweepsOf(t *testing.T, p *lowering.Plan, memory map[lowering.RefKind][][]byte, count int) []uint32 {
	t.Helper()
	steps := map[string][]lowering.Step{}
	for _, s := range p.Steps {
		steps[s.Kernel.Name] = append(steps[s.Kernel.Name], s)
	}
	for _, s := range steps {
		if len(s) == jacobi.MostSweeps {
			sums := make([]uint32, count)
			words := memory[lowering.Temp][s[0].Args[0].Ref.Index]
			for i := range count * jacobi.MostSweeps {
				sums[i%count] += binary.LittleEndian.Uint32(words[4*i:])
			}
			return sums
		}
	}
	t.Fatal("no kernel follows every sweep")
	return nil
}

// factorSVD gives u, s and v of matrices of m × n, u with cols columns and v with rows
// rows.
func factorSVD(t *testing.T, target *lowering.Target, x synthtest.Tensor, full int) (f []synthtest.Tensor, m, n, cols, rows int) {
	t.Helper()
	shape := x.Typ.Shape
	lead, m, n := shape[:len(shape)-2:len(shape)-2], shape[len(shape)-2], shape[len(shape)-1]
	k := min(m, n)
	cols, rows = k, k
	if full != 0 {
		cols, rows = m, n
	}
	dims := func(d ...int) ops.Type { return ops.Type{DType: x.Typ.DType, Shape: append(lead, d...)} }
	f = factorize(t, target, ops.SVD, []ops.Type{dims(m, cols), dims(k), dims(rows, n)}, [][]int{{full}}, x)
	return f, m, n, cols, rows
}

// checkSVD decomposes and checks the factors and their order.
func checkSVD(t *testing.T, target *lowering.Target, x synthtest.Tensor, full int) (s []float64) {
	t.Helper()
	f, m, n, cols, rows := factorSVD(t, target, x, full)
	k := min(m, n)
	for b := range matrices(x, m, n) {
		u, d, v := matrix(f[0], b, m, cols), newMat(cols, rows), matrix(f[2], b, rows, n)
		for i := range k {
			if d.set(i, i, f[1].F[b*k+i]); i > 0 && d.at(i, i) > d.at(i-1, i-1) {
				t.Errorf("%v comes after %v", d.at(i, i), d.at(i-1, i-1))
			}
		}
		near(t, "u s v", x.Typ.DType, u.times(d).times(v), matrix(x, b, m, n), matrix(x, b, m, n).norm())
		near(t, "u^T u", x.Typ.DType, u.transposed().times(u), identity(cols), 1)
		near(t, "v v^T", x.Typ.DType, v.times(v.transposed()), identity(rows), 1)
	}
	return f[1].F
}

func TestSVD(t *testing.T) {
	for i, c := range []struct {
		target *lowering.Target
		of     ops.Type
	}{{synthtest.GPU, synthtest.Type(ops.F32, 1, 1)}, {small, synthtest.Type(ops.F64, 2, 3, 5)}, {small, synthtest.Type(ops.F32, 6, 4)}, {small, synthtest.Type(ops.F32, 40, 38)}} {
		checkSVD(t, c.target, gauss(c.of, uint64(i)), i%2)
	}
}

// Vectors, as columns and as rows, are reflected to one number, which takes few kernels; vectors of zeros have a whole
// basis too.
func TestSVDOfVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 11))
	for i := range 12 {
		m, n := 1+r.IntN(40), 1
		if r.IntN(2) == 0 {
			m, n = n, m
		}
		typ := synthtest.Type([]ops.DType{ops.F32, ops.F64}[r.IntN(2)], 1+r.IntN(5), m, n)
		x := gauss(typ, uint64(i))
		for k := range m * n {
			x.F[k] *= float64(r.IntN(3) % 2) // the first vector is one of zeros now and then
		}
		if i%3 == 0 {
			clear(x.F[:m*n])
		}
		checkSVD(t, small, x, i%2)
		in := synthtest.Instr(ops.SVD, typ, []int{i % 2})
		k := ops.Shape{typ.Shape[0], 1}
		u, v := ops.Shape{typ.Shape[0], m, 1}, ops.Shape{typ.Shape[0], 1, n}
		if i%2 == 1 {
			u[2], v[1] = m, n
		}
		in.Outs = []ops.Result{{Type: ops.Type{DType: typ.DType, Shape: u}}, {Type: ops.Type{DType: typ.DType, Shape: k}}, {Type: ops.Type{DType: typ.DType, Shape: v}}}
		p, err := synthtest.Lower(t, synthtest.GPU, in, typ)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) > 24 {
			t.Errorf("svd of %v takes %d kernels", typ, len(p.Steps))
		}
	}
}

// A matrix of rank 1 has one singular value and a whole basis.
func TestSVDOfLowRank(t *testing.T) {
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 4, 3)}
	for i := range 12 {
		x.F = append(x.F, float64((i/3+1)*(i%3-1)))
	}
	for full := range 2 {
		if s := checkSVD(t, small, x, full); s[1] != 0 || s[2] != 0 {
			t.Errorf("singular values %v", s)
		}
	}
	checkSVD(t, small, synthtest.Tensor{Typ: synthtest.Type(ops.F32, 2, 2), F: make([]float64, 4)}, 1)
}

func TestJacobiOfNaN(t *testing.T) {
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 2, 2), F: []float64{1, 2, 2, math.Inf(1)}}
	one := synthtest.Type(ops.F32, 2)
	for op, outs := range map[ops.Op][]ops.Type{ops.Eigh: {one, x.Typ}, ops.SVD: {x.Typ, one, x.Typ}} {
		var attrs [][]int
		if op == ops.SVD {
			attrs = [][]int{{0}}
		}
		for _, f := range factorize(t, small, op, outs, attrs, x) {
			for _, v := range f.F {
				if v == v {
					t.Errorf("%v gives %v", op, f.F)
				}
			}
		}
	}
}
