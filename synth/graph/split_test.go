package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

func always(*ops.Instr, []ops.Type) bool { return true }

// tensor has numbers of f32 or bf16; those of bf16 are rounded to nearest.
func tensor(t ops.Type, xs []float64) fallback.Value {
	v := fallback.Value{Type: t}
	for _, x := range xs {
		bits := math.Float32bits(float32(x))
		if t.DType == ops.F32 {
			v.Data = binary.LittleEndian.AppendUint32(v.Data, bits)
		} else {
			v.Data = binary.LittleEndian.AppendUint16(v.Data, uint16((bits+0x7fff+bits>>16&1)>>16))
		}
	}
	return v
}

// numbers reads numbers of f32 or bf16.
func numbers(v fallback.Value) (xs []float64) {
	for b := v.Data; len(b) > 0; b = b[v.Type.DType.Size():] {
		bits := uint32(binary.LittleEndian.Uint16(b)) << 16
		if v.Type.DType == ops.F32 {
			bits = binary.LittleEndian.Uint32(b)
		}
		xs = append(xs, float64(math.Float32frombits(bits)))
	}
	return xs
}

// text is a type as Parse reads it.
func text(t ops.Type) string {
	return fmt.Sprintf("%v[%d,%d]", t.DType, t.Shape[0], t.Shape[1])
}

func evaluated(t *testing.T, r *ops.Region, args ...fallback.Value) []float64 {
	t.Helper()
	out, err := fallback.NewEvaluator(r).Eval(args...)
	if err != nil {
		t.Fatal(err)
	}
	return numbers(out[0])
}

// TestSplit: a product of f32 and bf16 is two products of bf16, within the bound that Split states, whichever
// operand is of f32 and however both lie.
func TestSplit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(31, 7))
	for range 60 {
		m, n, k, first, wide := 1+rnd.IntN(9), 1+rnd.IntN(9), 1+rnd.IntN(200), rnd.IntN(2), rnd.IntN(2)
		second := rnd.IntN(2)
		shapes := [2]ops.Shape{{m, k}, {n, k}}
		for i, along := range []int{first, second} {
			if along == 0 { // the contracted axis comes first
				shapes[i][0], shapes[i][1] = shapes[i][1], shapes[i][0]
			}
		}
		var types [2]ops.Type
		var args [2]fallback.Value
		for i := range types {
			types[i] = ops.Type{DType: ops.BF16, Shape: shapes[i]}
			if i == wide {
				types[i].DType = ops.F32
			}
			xs := make([]float64, types[i].Size())
			for j := range xs {
				xs[j] = rnd.NormFloat64() * math.Exp2(float64(rnd.IntN(60)-30))
			}
			args[i] = tensor(types[i], xs)
		}
		r := parsed(t, fmt.Sprintf(`(%%1:%s, %%2:%s) {
  %%3:f32[%d,%d] = dot %%1, %%2 contract_left=[%d] batch_left=[] contract_right=[%d] batch_right=[]
  give %%3
}
`, text(types[0]), text(types[1]), m, n, first, second))
		s := Split(r, always)
		if _, err := s.CheckProgram(); err != nil {
			t.Fatalf("%v in\n%s", err, notation.Print(s))
		}
		if text := notation.Print(s); strings.Count(text, " dot ") != 2 {
			t.Fatalf("it becomes\n%s", text)
		}
		got, a, b := evaluated(t, s, args[:]...), numbers(args[0]), numbers(args[1])
		for i, x := range got {
			want, magnitude := 0.0, 0.0
			for c := range k {
				p := a[at(i/n, c, k, m, first)] * b[at(i%n, c, k, n, second)]
				want, magnitude = want+p, magnitude+math.Abs(p)
			}
			if bound := (0x1p-16 + 2*float64(k+8)*0x1p-24) * magnitude; math.Abs(x-want) > bound {
				t.Fatalf("%v · %v: element %d is %v, want %v within %v", types[0], types[1], i, x, want, bound)
			}
		}
	}
}

// at is where an element is, by its place along a free axis and along the contracted one.
func at(free, c, k, size, contracted int) int {
	if contracted == 0 {
		return c*size + free
	}
	return free*k + c
}

// TestSplitNumbers: a single number of any kind is what it was, to 16 bits: also one beyond bf16, infinities and NaN.
func TestSplitNumbers(t *testing.T) {
	r := parsed(t, `(%1:f32[14,1], %2:bf16[1,1]) {
  %3:f32[14,1] = dot %1, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %3
}
`)
	xs := []float64{0, math.Copysign(0, -1), 1, -math.Pi, 0x1p-126, 0x1.fffffep-90, 0x1.010101p100, 0x1.feffp127, -0x1.fep127,
		0x1.fffep127, -0x1.fffep127, math.Inf(1), math.Inf(-1), math.NaN()}
	got := evaluated(t, Split(r, always), tensor(r.Params[0].Type, xs), tensor(r.Params[1].Type, []float64{1}))
	for i, x := range xs {
		exact := x-x != 0 || x == 0
		if g := got[i]; math.IsNaN(x) != math.IsNaN(g) || exact && g != x && g == g || !exact && !(math.Abs(g-x) <= math.Abs(x)*0x1p-16+0x1p-133) {
			t.Errorf("%v becomes %v", x, g)
		}
	}
}

// TestSplitWidened: a number of bf16 that has become one of f32 is taken as it was.
func TestSplitWidened(t *testing.T) {
	r := parsed(t, `(%1:bf16[3,2], %2:bf16[2,4]) {
  %3:f32[3,2] = as_type %1
  %4:f32[3,4] = dot %3, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %4
}
`)
	s := Split(r, always)
	if text := notation.Print(s); strings.Count(text, " dot ") != 1 || !strings.Contains(text, "dot %1, %2") {
		t.Errorf("it becomes\n%s", text)
	}
	same(t, r, s)
}

// TestSplitRefuses: products of other types, those of literals and those that do not pay stay.
func TestSplitRefuses(t *testing.T) {
	const product = "  %%3:%s[3,4] = dot %%1, %%2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]\n  give %%3\n}\n"
	for _, c := range [][3]string{{"f32", "f32", "f32"}, {"bf16", "bf16", "f32"}, {"f32", "bf16", "bf16"}, {"f32", "f16", "f32"}, {"f64", "bf16", "f64"}} {
		text := fmt.Sprintf("(%%1:%s[3,2], %%2:%s[2,4]) {\n"+product, c[0], c[1], c[2])
		if r := parsed(t, text); Split(r, always) != r {
			t.Errorf("it becomes\n%s", notation.Print(Split(r, always)))
		}
	}
	r := parsed(t, fmt.Sprintf("(%%1:f32[3,2], %%2:bf16[2,4]) {\n"+product, "f32"))
	never := func(in *ops.Instr, types []ops.Type) bool {
		if len(types) != 2 || types[0].DType != ops.F32 || types[1].DType != ops.BF16 {
			t.Errorf("the types of the operands are %v", types)
		}
		return false
	}
	if Split(r, never) != r {
		t.Error("a product that does not pay is split")
	}
}
