package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/explain"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// Weights of 8 and 4 bits, and how they become a matrix. The body of each is followed by the product.
var weights = map[string]string{
	"8 bits, scaled afterwards": `%2:s8[4096,2048], %3:bf16[1,2048]) {
  %9:bf16[4096,2048] = as_type %2
`,
	"8 bits, scaled": `%2:s8[4096,2048], %3:bf16[1,2048]) {
  %4:bf16[4096,2048] = as_type %2
  %9:bf16[4096,2048] = multiply %4, %3
`,
	"8 bits in groups": `%2:s8[4096,2048], %3:bf16[64,1,2048]) {
  %4:bf16[4096,2048] = as_type %2
  %5:bf16[64,64,2048] = reshape %4
  %6:bf16[64,64,2048] = multiply %5, %3
  %9:bf16[4096,2048] = reshape %6
`,
	"4 bits in halves": `%2:u8[2048,2048], %3:bf16[1,2048]) {
  %4:u8[2048,2048] = bitwise_and %2, u8(15)
  %5:u8[2048,2048] = right_shift %2, u8(4)
  %6:u8[4096,2048] = concatenate %4, %5 axis=0
  %7:bf16[4096,2048] = as_type %6
  %8:bf16[4096,2048] = subtract %7, s32(8)
  %9:bf16[4096,2048] = multiply %8, %3
`,
	"4 bits in turns": `%2:u8[2048,2048], %3:bf16[1,2048]) {
  %4:u8[2048,2048] = bitwise_and %2, u8(15)
  %5:u8[2048,2048] = right_shift %2, u8(4)
  %6:u8[2048,2,2048] = stack %4, %5 axis=1
  %7:u8[4096,2048] = reshape %6
  %8:bf16[4096,2048] = as_type %7
  %9:bf16[4096,2048] = multiply %8, %3
`,
}

// TestExplainWeights: on a GPU, a vector times a weight of 8 or 4 bits reads the weight as it is, and no matrix
// that is computed of it is in memory.
func TestExplainWeights(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		for name, text := range weights {
			text = "(%1:bf16[1,4096], " + text +
				"  %10:bf16[1,2048] = dot %1, %9 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]\n" +
				"  give %10\n}\n"
			region, err := notation.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Define(q, name, region)
			parts, err := r.explained(q, name, OnGPU)
			if err != nil {
				t.Fatal(err)
			}
			if why := readsAsItIs(region, parts); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	})
}

// readsAsItIs says why parts do not read the parameters of a program once, with nothing of their size in memory; empty
// if they do.
func readsAsItIs(region *ops.Region, parts []explain.Part) string {
	var moved, held, stored int64
	for _, p := range region.Params {
		stored += int64(p.Type.Bytes())
	}
	for _, p := range parts {
		held = max(held, p.Held)
		for _, k := range p.Kernels {
			moved += k.Bytes
		}
	}
	if moved > stored+stored/6 || held > stored/6 {
		return fmt.Sprintf("%d bytes are moved and %d held, of a weight and scales of %d", moved, held, stored)
	}
	return ""
}

// drawnWeight is a product of a vector and a weight of 8 or 4 bits, of any shape, type and layout.
func drawnWeight(rnd *rand.Rand) string {
	d := []string{"f32", "bf16", "f16"}[rnd.IntN(3)]
	k := 2 * (64 + rnd.IntN(1000))
	n := (1<<16)/k + 1 + rnd.IntN(2000)
	axis, line := 0, fmt.Sprintf("[1,%d]", n)
	shape := func(k int) string { return fmt.Sprintf("[%d,%d]", k, n) }
	if rnd.IntN(2) == 0 {
		axis, line = 1, fmt.Sprintf("[%d,1]", n)
		shape = func(k int) string { return fmt.Sprintf("[%d,%d]", n, k) }
	}
	scale := fmt.Sprintf("  %%9:%s%s = multiply %%8, %%3\n", d, shape(k))
	var body string
	switch rnd.IntN(3) {
	case 0:
		body = fmt.Sprintf("%%2:s8%s, %%3:%s%s) {\n  %%8:%s%s = as_type %%2\n", shape(k), d, line, d, shape(k))
	default:
		half := shape(k / 2)
		body = fmt.Sprintf("%%2:u8%s, %%3:%s%s) {\n  %%4:u8%s = bitwise_and %%2, u8(15)\n  %%5:u8%s = right_shift %%2, u8(4)\n",
			half, d, line, half, half)
		if rnd.IntN(2) == 0 {
			body += fmt.Sprintf("  %%6:u8%s = concatenate %%4, %%5 axis=%d\n", shape(k), axis)
		} else {
			pairs := []string{fmt.Sprintf("[%d,2,%d]", k/2, n), fmt.Sprintf("[%d,%d,2]", n, k/2)}[axis]
			body += fmt.Sprintf("  %%10:u8%s = stack %%4, %%5 axis=%d\n  %%6:u8%s = reshape %%10\n", pairs, axis+1, shape(k))
		}
		body += fmt.Sprintf("  %%7:%s%s = as_type %%6\n  %%8:%s%s = subtract %%7, s32(8)\n", d, shape(k), d, shape(k))
	}
	return fmt.Sprintf("(%%1:%s[1,%d], ", d, k) + body + scale +
		fmt.Sprintf("  %%11:%s[1,%d] = dot %%1, %%9 contract_left=[1] batch_left=[] contract_right=[%d] batch_right=[]\n  give %%11\n}\n", d, n, axis)
}

// TestExplainDrawnWeights is TestExplainWeights for shapes, types and layouts that nobody has named.
func TestExplainDrawnWeights(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		for seed := range uint64(40) {
			text, name := drawnWeight(rand.New(rand.NewPCG(seed, 48))), fmt.Sprint(seed)
			region, err := notation.Parse(text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			r.Define(q, name, region)
			parts, err := r.explained(q, name, OnGPU)
			if err != nil {
				t.Fatal(err)
			}
			if why := readsAsItIs(region, parts); why != "" {
				t.Errorf("seed %d: %s\n%s", seed, why, text)
			}
		}
	})
}
