package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/synth/graph/notation"
	"nxvk/test/draw"
)

// Products of vectors and a weight of 8 bits, and of 4 bits that take turns or lie in halves. A GPU computes
// the weight where it is multiplied.
var weightPrograms = []string{
	`(%1:f32[3,512], %2:s8[512,257], %3:f32[1,257]) {
  %4:f32[512,257] = as_type %2
  %5:f32[3,257] = dot %1, %4 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %6:f32[3,257] = multiply %5, %3
  give %6
}
`,
	`(%1:f32[1,512], %2:s8[512,257], %3:f32[32,1,257]) {
  %4:f32[512,257] = as_type %2
  %5:f32[32,16,257] = reshape %4
  %6:f32[32,16,257] = multiply %5, %3
  %7:f32[512,257] = reshape %6
  %8:f32[1,257] = dot %1, %7 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %8
}
`,
	`(%1:f32[1,512], %2:u8[256,257], %3:f32[1,257]) {
  %4:u8[256,257] = bitwise_and %2, u8(15)
  %5:u8[256,257] = right_shift %2, u8(4)
  %6:u8[256,2,257] = stack %4, %5 axis=1
  %7:u8[512,257] = reshape %6
  %8:f32[512,257] = as_type %7
  %9:f32[512,257] = multiply %8, %3
  %10:f32[1,257] = dot %1, %9 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %10
}
`,
	`(%1:f32[1,512], %2:u8[257,256], %3:f32[257,1]) {
  %4:u8[257,256] = bitwise_and %2, u8(15)
  %5:u8[257,256] = right_shift %2, u8(4)
  %6:u8[257,512] = concatenate %4, %5 axis=1
  %7:f32[257,512] = as_type %6
  %8:f32[257,512] = subtract %7, s32(8)
  %9:f32[257,512] = multiply %8, %3
  %10:f32[1,257] = dot %1, %9 contract_left=[1] batch_left=[] contract_right=[1] batch_right=[]
  give %10
}
`,
}

func TestWeights(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, _ bool) {
		for i, text := range weightPrograms {
			p, err := notation.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			types, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(uint64(i), 4))
			var data [][]byte
			for _, param := range p.Params {
				data = append(data, draw.Whole(rnd, param.Type))
			}
			rnd.Uint64()
			for k := range data[1] {
				data[1][k] = byte(rnd.Uint32())
			}
			want, _, err := results(host, p, types, data)
			if err != nil {
				t.Fatal(err)
			}
			var first []byte
			for run := range d.Exec.Services().Enough() + 1 {
				got, _, err := results(d, p, types, data)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got[0]
				}
				if !bytes.Equal(got[0], first) {
					t.Errorf("program %d: run %d gives other bits than the first", i, run)
				}
				if worst := furthest(got[0], want[0]); worst > 1e-4 {
					t.Errorf("program %d is %v from the host", i, worst)
				}
				if err := d.Built(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestIntegerProducts: products of 32 bits whose operands are converted from 8 bits give the bits of the host, where
// a GPU reads the operands as they are.
func TestIntegerProducts(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, _ bool) {
		for seed := range uint64(6) {
			rnd := rand.New(rand.NewPCG(seed, 32))
			from := []string{"s8", "u8"}[seed%2]
			m, k, n := 1+rnd.IntN(70), 1+rnd.IntN(300), 1+rnd.IntN(70)
			p, err := notation.Parse(fmt.Sprintf(`(%%1:%s[%d,%d], %%2:%s[%d,%d], %%3:s32[1,%d]) {
  %%4:s32[%d,%d] = as_type %%1
  %%5:s32[%d,%d] = as_type %%2
  %%6:s32[%d,%d] = dot %%4, %%5 contract_left=[1] batch_left=[] contract_right=[1] batch_right=[]
  %%7:s32[%d,%d] = add %%6, %%3
  give %%7
}
`, from, m, k, from, n, k, n, m, k, n, k, m, n, m, n))
			if err != nil {
				t.Fatal(err)
			}
			types, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			var data [][]byte
			for _, param := range p.Params {
				bytes := make([]byte, param.Type.Bytes())
				for i := range bytes {
					bytes[i] = byte(rnd.Uint32())
				}
				data = append(data, bytes)
			}
			want, _, err := results(host, p, types, data)
			if err != nil {
				t.Fatal(err)
			}
			for range d.Exec.Services().Enough() + 1 {
				got, _, err := results(d, p, types, data)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got[0], want[0]) {
					t.Errorf("seed %d: other bits than the host gives, of %s %d×%d×%d", seed, from, m, k, n)
				}
				if err := d.Built(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
