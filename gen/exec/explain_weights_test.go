package exec

import (
	"testing"

	"nxvk/synth/graph"
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
			region, err := graph.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Define(q, name, region)
			parts, err := r.explained(q, name, OnGPU)
			if err != nil {
				t.Fatal(err)
			}
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
				t.Errorf("%s: %d bytes are moved and %d held, of a weight and scales of %d", name, moved, held, stored)
			}
		}
	})
}
