package ops

import (
	"strings"
	"testing"
)

// TestCheckFactors: shapes and types of operations with several results.
func TestCheckFactors(t *testing.T) {
	a, wide, vec := of(F32, 2, 3, 3), of(F32, 3, 5), of(F32, 3)
	for _, c := range []struct {
		op    Op
		attrs [][]int
		outs  []Type
		types []Type
		want  string // part of the error; empty where there is none
	}{
		{Cholesky, nil, []Type{a}, []Type{a}, ""},
		{Cholesky, nil, []Type{wide}, []Type{wide}, "those of square matrices"},
		{Cholesky, nil, []Type{of(S32, 3, 3)}, []Type{of(S32, 3, 3)}, "must be a float"},
		{Cholesky, nil, []Type{vec}, []Type{vec}, "those of matrices"},
		{Solve, nil, []Type{of(F32, 2, 3)}, []Type{a, of(F32, 2, 3)}, ""},
		{Solve, nil, []Type{of(F32, 2, 3, 7)}, []Type{a, of(S8, 2, 3, 7)}, ""},
		{Solve, nil, []Type{of(F32, 3, 7)}, []Type{a, of(F32, 3, 7)}, "does not fit the matrices"},
		{Solve, nil, []Type{of(F32, 2, 4)}, []Type{a, of(F32, 2, 4)}, "does not fit the matrices"},
		{Solve, nil, []Type{of(F32)}, []Type{a, of(F32)}, "does not fit the matrices"},
		{QR, [][]int{{0}}, []Type{of(F32, 3, 3), wide}, []Type{wide}, ""},
		{QR, [][]int{{0}}, []Type{of(F32, 5, 3), of(F32, 3, 3)}, []Type{of(S32, 5, 3)}, ""},
		{QR, [][]int{{1}}, []Type{of(F32, 5, 5), of(F32, 5, 3)}, []Type{of(F32, 5, 3)}, ""},
		{QR, [][]int{{2}}, []Type{of(F32, 5, 5), of(F32, 5, 3)}, []Type{of(F32, 5, 3)}, `"mode" must be one of`},
		{QR, [][]int{{1}}, []Type{of(F32, 5, 3), of(F32, 3, 3)}, []Type{of(F32, 5, 3)}, "result 0 must be {5, 5}"},
		{QR, [][]int{{0}}, []Type{of(F32, 3, 3)}, []Type{wide}, "gives 2 results, has 1"},
		{Eigh, nil, []Type{of(C64, 2, 3), of(C64, 2, 3, 3)}, []Type{of(C64, 2, 3, 3)}, ""},
		{Eigh, nil, []Type{of(F32, 3), of(F32, 3, 3)}, []Type{wide}, "those of square matrices"},
		{SVD, [][]int{{1}}, []Type{of(F32, 3, 3), vec, of(F32, 5, 5)}, []Type{wide}, ""},
		{SVD, [][]int{{0}}, []Type{of(F32, 3, 3), vec, wide}, []Type{wide}, ""},
		{SVD, [][]int{{0}}, []Type{of(F32, 3, 3), vec, of(F32, 5, 5)}, []Type{wide}, "result 2 must be {3, 5}"},
		{LU, nil, []Type{of(S8, 3, 3), of(F32, 3, 3), of(F32, 3, 3)}, []Type{of(S8, 3, 3)}, ""},
		{LU, nil, []Type{of(F32, 3, 3), of(F32, 3, 3), of(F32, 3, 3)}, []Type{of(S8, 3, 3)}, "must be s8"},
		{LU, nil, []Type{of(S8, 3, 3), of(F32, 3, 3), of(S8, 3, 3)}, []Type{of(S8, 3, 3)}, "must be a float or complex type"},
		{Determinant, nil, []Type{of(F32, 2)}, []Type{a}, ""},
		{Determinant, nil, []Type{of(F32)}, []Type{a}, "must be {2}, is stated as {}"},
	} {
		in := instr(c.op, c.attrs, c.outs[0], c.types)
		for _, o := range c.outs[1:] {
			in.Outs = append(in.Outs, Result{Type: o})
		}
		err := in.Check(c.types)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v of %v: %v", c.op, c.types, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v of %v: got %v, want %q in it", c.op, c.types, err, c.want)
		}
	}
}
