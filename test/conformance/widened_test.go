package conformance

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
	"nxvk/test/fewtest"
)

// TestWidened: operations that compute in 64 bits have the host's bits for narrower integers, too, whose signs are
// extended: a driver may compare such numbers wrongly.
func TestWidened(t *testing.T) {
	wide := []ops.DType{ops.S64, ops.U64}
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		rng := rand.New(rand.NewPCG(64, 1))
		computed := 0
		for op := range ops.Op(sent) {
			info := op.Info()
			if info.Kind != ops.Pointwise || info.Arity > 2 || info.Flags&ops.Predicate != 0 {
				continue
			}
			for range fewtest.Of(24, 4) {
				c := instr{op: op, out: ops.Type{DType: wide[rng.IntN(len(wide))], Shape: ops.Shape{16}}}
				for range info.Arity {
					typ := ops.Type{DType: integers[rng.IntN(len(integers))], Shape: ops.Shape{16}}
					c.types, c.data = append(c.types, typ), append(c.data, draw.Encode(between(rng, typ), typ))
				}
				want, err := c.run(host)
				if err != nil {
					continue // no operation of integers
				}
				got, err := c.run(d)
				if err != nil {
					t.Fatalf("%v: %v", &c, err)
				}
				if computed++; !bytes.Equal(got, want) {
					t.Errorf("%v of %x: got %x, want %x", &c, c.data, got, want)
				}
			}
		}
		if computed < 40 {
			t.Errorf("%d operations were computed", computed)
		}
	})
}

var integers = []ops.DType{ops.S2, ops.S4, ops.S8, ops.S16, ops.S32, ops.S64, ops.U8, ops.U32, ops.U64}

// between draws small numbers that a type has.
func between(rng *rand.Rand, t ops.Type) (list []float64) {
	least, most := -8, 7
	switch bits := t.DType.Bits(); {
	case t.DType.Class() == ops.Unsigned:
		least = 0
	case bits < 4:
		least, most = -2, 1
	}
	for range t.Size() {
		list = append(list, float64(least+rng.IntN(most-least+1)))
	}
	return list
}
