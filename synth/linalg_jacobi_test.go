package synth

import (
	"encoding/binary"
	"math"
	"testing"

	"nxvk/ops"
)

// symmetric copies the lower triangles to the upper ones.
func symmetric(x tensor, n int) tensor {
	for k := range x.matrices(n, n) {
		a := x.matrix(k, n, n)
		for i := range n {
			for c := range i {
				a.set(c, i, a.at(i, c))
			}
		}
	}
	return x
}

// eachJacobi calls f for few types and sizes: rotations take long to interpret.
func eachJacobi(t *testing.T, f func(target *Target, of ops.Type)) {
	for _, c := range []struct {
		target *Target
		of     ops.Type
	}{{gpu, typ(ops.F32, 1, 1)}, {small, typ(ops.F64, 3, 2, 2)}, {gpu, typ(ops.F32, 2, 7, 7)}, {small, typ(ops.F32, 70, 70)}} {
		f(c.target, c.of)
	}
}

// checkEigh decomposes symmetric matrices and checks the factors and their order.
func checkEigh(t *testing.T, target *Target, x tensor) (values []float64) {
	t.Helper()
	of := x.typ
	n := of.Shape[len(of.Shape)-1]
	f := factor(t, target, ops.Eigh, []ops.Type{{DType: of.DType, Shape: of.Shape[:len(of.Shape)-1]}, of}, nil, x)
	for b := range x.matrices(n, n) {
		a, v, l := x.matrix(b, n, n), f[1].matrix(b, n, n), newMat(n, n)
		for i := range n {
			if l.set(i, i, f[0].f[b*n+i]); i > 0 && math.Abs(l.at(i, i)) > math.Abs(l.at(i-1, i-1)) {
				t.Errorf("%v comes after %v", l.at(i, i), l.at(i-1, i-1))
			}
		}
		near(t, "v l v^T", of.DType, v.times(l).times(v.transposed()), a, a.norm())
		near(t, "v^T v", of.DType, v.transposed().times(v), identity(n), 1)
	}
	return f[0].f
}

func TestEigh(t *testing.T) {
	eachJacobi(t, func(target *Target, of ops.Type) {
		checkEigh(t, target, symmetric(gauss(of, 5), of.Shape[len(of.Shape)-1]))
	})
}

// Matrices of two and of four pairs of blocks; TestEigh has one of three.
func TestEighOfPairs(t *testing.T) {
	for _, c := range []struct {
		target *Target
		of     ops.Type
	}{{small, typ(ops.F32, 2, 40, 40)}, {gpu, typ(ops.F64, 33, 33)}, {small, typ(ops.F32, 97, 97)}} {
		checkEigh(t, c.target, symmetric(gauss(c.of, 7), c.of.Shape[len(c.of.Shape)-1]))
	}
}

// Eigenvalues over many magnitudes, and the same one many times.
func TestEighOfClusters(t *testing.T) {
	const n = 36
	graded, same := symmetric(gauss(typ(ops.F32, n, n), 9), n), tensor{typ: typ(ops.F32, n, n)}
	for i := range n * n {
		graded.f[i] = float64(float32(graded.f[i] * math.Exp2(-float64(i/n+i%n)/2)))
		same.f = append(same.f, 1) // rank 1
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
	x := tensor{typ: typ(ops.F32, 3, n, n), f: make([]float64, 3*n*n)}
	copy(x.f[2*n*n:], symmetric(gauss(typ(ops.F32, n, n), 3), n).f)
	for i := range n {
		x.f[i*n+i], x.f[n*n+i*n+i] = float64(n-i), math.Inf(1)
	}
	values := typ(ops.F32, 3, n)
	in := instr(ops.Eigh, values)
	in.Outs = append(in.Outs, ops.Result{ID: 100, Type: x.typ})
	p, err := lower(t, small, in, x.typ)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[RefKind][][]byte{Operand: {x.bytes()}, Result: {make([]byte, values.Bytes()), make([]byte, x.typ.Bytes())}}
	interpret(t, p, memory, nil)
	got, vectors := fromBytes(values, memory[Result][0]), fromBytes(x.typ, memory[Result][1])
	for i := range n {
		if got.f[i] != float64(n-i) || vectors.f[i*n+i] != 1 || !math.IsNaN(got.f[n+i]) || math.IsNaN(got.f[2*n+i]) {
			t.Errorf("eigenvalue %d is %v, %v, %v", i, got.f[i], got.f[n+i], got.f[2*n+i])
		}
	}
	sweeps := sweepsOf(t, p, memory, 3)
	if sweeps[0] != 1 || sweeps[1] != 1 || sweeps[2] < 4 || sweeps[2] > 8 {
		t.Errorf("matrices took %v sweeps", sweeps)
	}
}

// sweepsOf is how many sweeps the matrices of a plan took.
func sweepsOf(t *testing.T, p *Plan, memory map[RefKind][][]byte, count int) []uint32 {
	t.Helper()
	steps := map[string][]Step{}
	for _, s := range p.Steps {
		steps[s.Kernel.Name] = append(steps[s.Kernel.Name], s)
	}
	for _, s := range steps {
		if len(s) == mostSweeps {
			sums := make([]uint32, count)
			words := memory[Temp][s[0].Args[0].Ref.Index]
			for i := range count * mostSweeps {
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
func factorSVD(t *testing.T, target *Target, x tensor, full int) (f []tensor, m, n, cols, rows int) {
	t.Helper()
	shape := x.typ.Shape
	lead, m, n := shape[:len(shape)-2:len(shape)-2], shape[len(shape)-2], shape[len(shape)-1]
	k := min(m, n)
	cols, rows = k, k
	if full != 0 {
		cols, rows = m, n
	}
	dims := func(d ...int) ops.Type { return ops.Type{DType: x.typ.DType, Shape: append(lead, d...)} }
	f = factor(t, target, ops.SVD, []ops.Type{dims(m, cols), dims(k), dims(rows, n)}, [][]int{{full}}, x)
	return f, m, n, cols, rows
}

// checkSVD decomposes and checks the factors and their order.
func checkSVD(t *testing.T, target *Target, x tensor, full int) (s []float64) {
	t.Helper()
	f, m, n, cols, rows := factorSVD(t, target, x, full)
	k := min(m, n)
	for b := range x.matrices(m, n) {
		u, d, v := f[0].matrix(b, m, cols), newMat(cols, rows), f[2].matrix(b, rows, n)
		for i := range k {
			if d.set(i, i, f[1].f[b*k+i]); i > 0 && d.at(i, i) > d.at(i-1, i-1) {
				t.Errorf("%v comes after %v", d.at(i, i), d.at(i-1, i-1))
			}
		}
		near(t, "u s v", x.typ.DType, u.times(d).times(v), x.matrix(b, m, n), x.matrix(b, m, n).norm())
		near(t, "u^T u", x.typ.DType, u.transposed().times(u), identity(cols), 1)
		near(t, "v v^T", x.typ.DType, v.times(v.transposed()), identity(rows), 1)
	}
	return f[1].f
}

func TestSVD(t *testing.T) {
	for i, c := range []struct {
		target *Target
		of     ops.Type
	}{{gpu, typ(ops.F32, 1, 1)}, {small, typ(ops.F64, 2, 3, 5)}, {small, typ(ops.F32, 6, 4)}, {small, typ(ops.F32, 40, 38)}} {
		checkSVD(t, c.target, gauss(c.of, uint64(i)), i%2)
	}
}

// A matrix of rank 1 has one singular value and a whole basis.
func TestSVDOfLowRank(t *testing.T) {
	x := tensor{typ: typ(ops.F32, 4, 3)}
	for i := range 12 {
		x.f = append(x.f, float64((i/3+1)*(i%3-1)))
	}
	for full := range 2 {
		if s := checkSVD(t, small, x, full); s[1] != 0 || s[2] != 0 {
			t.Errorf("singular values %v", s)
		}
	}
	checkSVD(t, small, tensor{typ: typ(ops.F32, 2, 2), f: make([]float64, 4)}, 1)
}

func TestJacobiOfNaN(t *testing.T) {
	x := tensor{typ: typ(ops.F32, 2, 2), f: []float64{1, 2, 2, math.Inf(1)}}
	one := typ(ops.F32, 2)
	for op, outs := range map[ops.Op][]ops.Type{ops.Eigh: {one, x.typ}, ops.SVD: {x.typ, one, x.typ}} {
		var attrs [][]int
		if op == ops.SVD {
			attrs = [][]int{{0}}
		}
		for _, f := range factor(t, small, op, outs, attrs, x) {
			for _, v := range f.f {
				if v == v {
					t.Errorf("%v gives %v", op, f.f)
				}
			}
		}
	}
}
