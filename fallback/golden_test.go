package fallback

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// golden is one line of testdata/goldens.jsonl: what Nx.BinaryBackend
// computes, written by testdata/goldens.exs.
type golden struct {
	Op    string
	Attrs [][]int
	Args  []goldenValue
	Outs  []goldenValue
}

type goldenValue struct{ Value }

// UnmarshalJSON reads [type, dimensions, hex].
func (g *goldenValue) UnmarshalJSON(b []byte) error {
	var name, data string
	shape := ops.Shape{}
	if err := json.Unmarshal(b, &[]any{&name, &shape, &data}); err != nil {
		return err
	}
	d, err := ops.ParseDType(name)
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(data)
	if err != nil {
		return err
	}
	g.Value = dense.New(ops.Type{DType: d, Shape: shape})
	if len(raw) != len(g.Data) {
		return fmt.Errorf("%v in %d bytes", g.Type, len(raw))
	}
	copy(g.Data, raw)
	return nil
}

// tolerance is the relative error that is permitted against Nx, in units of
// the last place of the result's type. Where Nx approximates, the exact value
// is further away from Nx's than rounding makes it.
var tolerance = [ops.Count]float64{
	ops.ErfInv: 64,
}

// approximate are f64 results that Nx composes of functions less exact than
// ours, as a relative error.
var approximate = [ops.Count]float64{
	ops.Expm1: 1e-13, ops.Log1p: 1e-13, ops.Cbrt: 1e-14, ops.ErfInv: 1e-6, ops.Pow: 1e-14,
	ops.Sigmoid: 1e-15, ops.Sinh: 1e-15,
}

func TestGoldens(t *testing.T) {
	f, err := os.Open("testdata/goldens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, wrong := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			t.Fatalf("line %d: %v", lines+1, err)
		}
		if err := g.check(); err != nil {
			if wrong++; wrong < 40 {
				t.Errorf("line %d: %s%v: %v", lines+1, g.Op, g.Attrs, err)
			}
		}
	}
	t.Logf("%d results compared, %d differ", lines, wrong)
}

func (g *golden) check() error {
	op, ok := ops.Lookup(g.Op)
	if !ok {
		return fmt.Errorf("not in the table")
	}
	if !Supports(op) {
		return nil
	}
	in := ops.Instr{Op: op, Attrs: g.Attrs}
	var args, outs []Value
	var types []ops.Type
	for _, a := range g.Args {
		in.Ins = append(in.Ins, ops.Operand{})
		args, types = append(args, a.Value), append(types, a.Type)
	}
	for _, o := range g.Outs {
		in.Outs = append(in.Outs, ops.Result{Type: o.Type})
		outs = append(outs, dense.New(o.Type))
	}
	if err := in.Check(types); err != nil {
		return err
	}
	if err := Run(&in, args, outs); err != nil {
		return err
	}
	for i := range outs {
		if err := g.compare(op, types, outs[i], g.Outs[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func (g *golden) compare(op ops.Op, types []ops.Type, got, want Value) error {
	d := got.Type.DType
	x, y := make([]complex128, got.Type.Size()), make([]complex128, got.Type.Size())
	dense.LoadCplx[d](x, got.Data, 0, 1)
	dense.LoadCplx[d](y, want.Data, 0, 1)
	for i := range x {
		if !g.close(op, d, real(x[i]), real(y[i])) || !g.close(op, d, imag(x[i]), imag(y[i])) {
			return fmt.Errorf("of %v gives %v at %d, Nx %v", types, x[i], i, y[i])
		}
	}
	return nil
}

func (g *golden) close(op ops.Op, d ops.DType, x, y float64) bool {
	if x == y || (x != x && y != y) || d.IsInteger() {
		return x == y || (x != x && y != y)
	}
	epsilon := math.Ldexp(1, -52)
	switch d.Real() {
	case ops.F32:
		epsilon = math.Ldexp(1, -23)
	case ops.F16:
		epsilon = math.Ldexp(1, -10)
	}
	scale := max(math.Abs(x), math.Abs(y))
	if d.IsComplex() || op.Info().Kind == ops.Transform || op.Info().Kind == ops.LinAlg {
		scale = max(scale, 1) // parts of a complex number cancel
		epsilon *= 32
	}
	return math.Abs(x-y) <= scale*max(epsilon*max(1, tolerance[op]), map[bool]float64{true: approximate[op]}[d.Real() == ops.F64])
}
