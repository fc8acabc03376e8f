package linalg

import (
	"nxvk/ops"
	"nxvk/synth/dot"
	"nxvk/synth/linalg/cholesky"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/linalg/jacobi"
	"nxvk/synth/linalg/qr"
	"nxvk/synth/linalg/triangular"
	"nxvk/synth/lowering"
)

// factorizations are the lowerings of the operations, called with a linalg that
// is ready to take steps.
var factorizations = map[ops.Op]func(*factor.Job){
	ops.TriangularSolve: triangular.TriangularSolve,
	ops.Cholesky:        cholesky.Lower,
	ops.LU:              lowerLU,
	ops.QR:              qr.Lower,
	ops.Eigh:            jacobi.LowerEigh,
	ops.SVD:             jacobi.LowerSVD,
	ops.Solve:           solve,
	ops.Determinant:     determinant,
}

// Lower plans the operations on matrices.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	plan, ok := factorizations[in.Op]
	switch {
	case !ok:
		return nil, lowering.Unsupported("%v is computed on the host", in.Op)
	case t.CPU:
		return nil, lowering.Unsupported("factors are computed on the host where the device is a processor")
	}
	j := &factor.Job{Builder: &dot.Builder{Plan: &lowering.Plan{Alias: -1}, Target: t}, In: in, Types: types}
	if err := j.Choose(append(factor.OutTypes(in), types...)); err != nil {
		return nil, err
	}
	s := types[0].Shape
	j.Count = s.Size() / (s[len(s)-1] * s[len(s)-2])
	plan(j)
	for _, convert := range j.Late {
		convert()
	}
	return j.Plan, j.Err
}
