package bench

import (
	"fmt"
	"math"

	"nxvk/gen/wire"
	"nxvk/node/bench/program"
	"nxvk/ops"
)

// chainSteps is how many leapfrog steps a round takes.
const chainSteps = 32

// leapfrogs is a round of a call for steps of so many chains, with its results.
func leapfrogs(chains int) row {
	p := program.Mixture()
	request := &wire.Leapfrog{Density: wire.Density{Program: "mixture", Type: ops.F64, Dim: program.Parameters}, N: chains, K: chainSteps, Step: 0.01}
	for i := range chains * program.Parameters {
		request.Q = append(request.Q, math.Sin(float64(i)))
		request.P = append(request.P, math.Cos(float64(i)))
		request.Metric = append(request.Metric, 1)
	}
	return row{name: fmt.Sprintf("leapfrog: %d steps of %d chains, regime model", chainSteps, chains), rounds: 10,
		run: func(h *harness) error {
			h.Define("mixture", p)
			request.Data = []ops.Operand{h.input(ops.Type{DType: ops.F64, Shape: ops.Shape{program.Observations, 1}}, 0)}
			rows, err := h.Leapfrog(request)
			if err == nil && rows.Release != nil {
				rows.Release()
			}
			return err
		}}
}
