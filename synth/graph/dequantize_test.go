package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// quantized are products of vectors and a weight, as they are written in Nx. M, K and N are sizes, P is K/2 and
// G is K/16; the type of the arithmetic is T.
var quantized = map[string]string{
	"converted": `(%1:T[M,K], %2:s8[K,N], %3:T[1,N]) {
  %4:T[K,N] = as_type %2
  %5:T[M,N] = dot %1, %4 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %6:T[M,N] = multiply %5, %3
  give %6
}
`,
	"scaled": `(%1:T[1,1,K], %2:s8[N,K], %3:T[N,1]) {
  %4:T[N,K] = as_type %2
  %5:T[N,K] = multiply %4, %3
  %6:T[1,1,N] = dot %1, %5 contract_left=[2] batch_left=[] contract_right=[1] batch_right=[]
  give %6
}
`,
	"groups": `(%1:T[K], %2:s8[K,N], %3:T[G,1,N]) {
  %4:T[K,N] = as_type %2
  %5:T[G,16,N] = reshape %4
  %6:T[G,16,N] = multiply %5, %3
  %7:T[K,N] = reshape %6
  %8:T[N] = dot %1, %7 contract_left=[0] batch_left=[] contract_right=[0] batch_right=[]
  give %8
}
`,
	"halves": `(%1:T[1,K], %2:u8[P,N], %3:T[K,N]) {
  %4:u8[P,N] = bitwise_and %2, u8(15)
  %5:u8[P,N] = right_shift %2, u8(4)
  %6:u8[K,N] = concatenate %4, %5 axis=0
  %7:T[K,N] = as_type %6
  %8:T[K,N] = subtract %7, s32(8)
  %9:f32[1,N] = dot %1, %8 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %9
}
`,
	"in turns": `(%1:T[1,K], %2:u8[P,N], %3:T[1,N]) {
  %4:u8[P,N] = bitwise_and %2, u8(15)
  %5:u8[P,N] = right_shift %2, u8(4)
  %6:u8[P,2,N] = stack %4, %5 axis=1
  %7:u8[K,N] = reshape %6
  %8:T[K,N] = as_type %7
  %9:T[K,N] = subtract %8, s32(8)
  %10:T[K,N] = multiply %9, %3
  %11:T[1,N] = dot %1, %10 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %11
}
`,
	"in turns along rows": `(%1:T[1,K], %2:u8[N,P], %3:T[N,1]) {
  %4:u8[N,P] = bitwise_and %2, u8(15)
  %5:u8[N,P] = right_shift %2, u8(4)
  %6:u8[N,P,2] = stack %4, %5 axis=2
  %7:u8[N,K] = reshape %6
  %8:T[N,K] = as_type %7
  %9:T[N,K] = multiply %8, %3
  %10:T[1,N] = dot %1, %9 contract_left=[1] batch_left=[] contract_right=[1] batch_right=[]
  give %10
}
`,
}

func sized(text, typ string, m, k, n int) string {
	r := strings.NewReplacer(":T[", ":"+typ+"[")
	text = r.Replace(text)
	for name, size := range map[string]int{"M": m, "K": k, "N": n, "P": k / 2, "G": k / 16} {
		for _, around := range [][2]string{{"[", ","}, {",", "]"}, {",", ","}, {"[", "]"}} {
			text = strings.ReplaceAll(text, around[0]+name+around[1], fmt.Sprintf("%s%d%s", around[0], size, around[1]))
		}
	}
	return text
}

// TestDequantize: sums of products give what the product gives, within the bound of products.
func TestDequantize(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for name, text := range quantized {
		for _, typ := range []string{"f32", "bf16"} {
			m, k, n := 1, 16*(20+rnd.IntN(20)), 257
			if name == "converted" {
				m = 1 + rnd.IntN(fewVectors)
			}
			r := parsed(t, sized(text, typ, m, k, n))
			q := Dequantize(r)
			if _, err := q.CheckProgram(); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, notation.Print(q))
			}
			if out := notation.Print(q); strings.Contains(out, "dot") || strings.Contains(out, "stack") && !strings.Contains(out, "slice") {
				t.Fatalf("%s: the region is\n%s", name, out)
			}
			var args []fallback.Value
			for _, p := range r.Params {
				v := fallback.Value{Type: p.Type, Data: make([]byte, p.Type.Bytes())}
				for i := range v.Type.Size() {
					switch x := float32(rnd.NormFloat64()); v.Type.DType {
					case ops.F32:
						binary.LittleEndian.PutUint32(v.Data[4*i:], math.Float32bits(x))
					case ops.BF16:
						binary.LittleEndian.PutUint16(v.Data[2*i:], uint16(math.Float32bits(x)>>16))
					default:
						v.Data[i] = byte(rnd.Uint32())
					}
				}
				args = append(args, v)
			}
			want, err := fallback.NewEvaluator(r).Eval(args...)
			if err != nil {
				t.Fatal(err)
			}
			wantCopy := slices.Clone(want[0].Data)
			got, err := fallback.NewEvaluator(q).Eval(args...)
			if err != nil {
				t.Fatal(err)
			}
			d := want[0].Type.DType
			var most float64
			for i := range want[0].Type.Size() {
				most = max(most, math.Abs(element(wantCopy, i, d)))
			}
			// Terms are at most some times as large as the largest sum of many; a result of bf16 may round to the
			// neighbour, and is then scaled and rounded.
			bound := 2 * float64(k+8) * 0x1p-24 * 8 * most
			if d == ops.BF16 {
				bound += 0x1p-7 * most
			}
			for i := range want[0].Type.Size() {
				if a, b := element(got[0].Data, i, d), element(wantCopy, i, d); !(math.Abs(a-b) <= bound) {
					t.Fatalf("%s of %v: element %d is %v, want %v, by %v at most", name, d, i, a, b, bound)
				}
			}
		}
	}
}

func element(b []byte, i int, d ops.DType) float64 {
	if d == ops.BF16 {
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}

// TestDequantizeRefuses: a matrix that is small, in memory, read elsewhere or computed from as many bytes, and
// many vectors are left to the product.
func TestDequantizeRefuses(t *testing.T) {
	const dot = "  %9:f32[M,N] = dot %1, %3 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]\n"
	for name, text := range map[string]string{
		"in memory":      "(%1:f32[1,300], %3:f32[300,300]) {\n" + strings.NewReplacer("M", "1", "N", "300").Replace(dot) + "  give %9\n}\n",
		"as many bytes":  "(%1:f32[1,300], %2:s32[300,300]) {\n  %3:f32[300,300] = as_type %2\n" + strings.NewReplacer("M", "1", "N", "300").Replace(dot) + "  give %9\n}\n",
		"small":          "(%1:f32[1,30], %2:s8[30,30]) {\n  %3:f32[30,30] = as_type %2\n" + strings.NewReplacer("M", "1", "N", "30").Replace(dot) + "  give %9\n}\n",
		"read elsewhere": "(%1:f32[1,300], %2:s8[300,300]) {\n  %3:f32[300,300] = as_type %2\n" + strings.NewReplacer("M", "1", "N", "300").Replace(dot) + "  give %9, %3\n}\n",
		"many vectors":   "(%1:f32[5,300], %2:s8[300,300]) {\n  %3:f32[300,300] = as_type %2\n" + strings.NewReplacer("M", "5", "N", "300").Replace(dot) + "  give %9\n}\n",
	} {
		if r := parsed(t, text); Dequantize(r) != r {
			t.Errorf("%s becomes\n%s", name, notation.Print(Dequantize(r)))
		}
	}
}
