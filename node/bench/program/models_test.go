package program

import (
	"encoding/binary"
	"math"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
)

// TestModels: gradients are those that differences of the densities have.
func TestModels(t *testing.T) {
	school := [][]float64{{28, 8, -3, 7, -1, 1, 18, 12}, {15, 10, 16, 11, 9, 11, 10, 18}}
	for _, c := range []struct {
		name    string
		program *ops.Region
		data    [][]float64
	}{{"schools", Schools(), school}, {"regimes", InOrder(), [][]float64{Returns()}}, {"mixture", Mixture(), [][]float64{Returns()}}} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.program.CheckProgram(); err != nil {
				t.Fatal(err)
			}
			eval := fallback.NewEvaluator(c.program)
			at := func(q []float64) (float64, []float64) {
				params := []fallback.Value{{Type: c.program.Params[0].Type, Data: bytesOf(q)}}
				for i, x := range c.data {
					params = append(params, fallback.Value{Type: c.program.Params[i+1].Type, Data: bytesOf(x)})
				}
				out, err := eval.Eval(params...)
				if err != nil {
					t.Fatal(err)
				}
				return numbersOf(out[0].Data)[0], numbersOf(out[1].Data)
			}
			q := make([]float64, c.program.Params[0].Type.Size())
			for i := range q {
				q[i] = 0.4 * math.Sin(float64(3*i+1))
			}
			_, grad := at(q)
			const h = 1e-5
			for i := range q {
				x := q[i]
				q[i] = x + h
				up, _ := at(q)
				q[i] = x - h
				down, _ := at(q)
				q[i] = x
				if want := (up - down) / (2 * h); math.Abs(grad[i]-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("gradient %d is %v, want %v", i, grad[i], want)
				}
			}
		})
	}
}

func bytesOf(xs []float64) (b []byte) {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func numbersOf(b []byte) (xs []float64) {
	for ; len(b) > 0; b = b[8:] {
		xs = append(xs, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return xs
}
