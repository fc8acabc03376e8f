package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// lines are the ways in which n elements lie that are put in order.
func lines(n int) (all []instr) {
	for i, s := range []ops.Shape{{n}, {3, n}, {n, 5}, {2, n, 3}} {
		axis := [...]int{0, 1, 0, 1}[i]
		for direction := range 2 {
			all = append(all, instr{attrs: [][]int{{axis}, {direction}, {i % 2}}, types: []ops.Type{{Shape: s}}})
		}
	}
	return all
}

// Sorted elements and their indices, in every way to sort: ties, both zeros,
// infinities and NaNs among them.
func TestSort(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, dt := range ops.DTypes() {
			if dt.IsComplex() {
				continue
			}
			t.Run(dt.String(), func(t *testing.T) {
				for _, length := range []int{1, 7, 64, 65, 257, 1000, 2049, 5000, 70001} {
					for _, c := range lines(length) {
						order(t, &n, d, host, dt, c, gpu)
					}
				}
			})
		}
		n.report(t)
	})
}

func order(t *testing.T, n *tally, d, host *exectest.Driver, dt ops.DType, c instr, gpu bool) {
	of := 40
	if dt == ops.F32 || dt == ops.S64 {
		of = 10
	}
	if gpu {
		of *= 2
	}
	c.types = []ops.Type{{DType: dt, Shape: c.types[0].Shape}}
	for _, op := range []ops.Op{ops.Sort, ops.Argsort} {
		c.op = op
		out := dt
		if op == ops.Argsort {
			out = ops.S32
		}
		c.infer(t, out)
		if !rarely(of, &c) {
			continue
		}
		s := newSampler(seed(op, dt, len(c.types[0].Shape)))
		c.data = [][]byte{s.draw(c.types[0], ops.Real, false)}
		if s.IntN(2) == 0 {
			c.data = [][]byte{tied(&instr{types: c.types, out: ops.Type{Shape: ops.Shape{1}}})}
		}
		n.near(t, d, host, &c, tolerance{})
	}
}

// The greatest elements of lines of every length and their indices: few of them,
// and so many that all are put in order.
func TestTopK(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, dt := range []ops.DType{ops.F32, ops.BF16, ops.S64, ops.U8} {
			if gpu && dt != ops.F32 && dt != ops.S64 {
				continue // other types have the same kernels but for their keys
			}
			for _, s := range []ops.Shape{{40}, {3, 700}, {2, 20011}, {70001}} {
				length := s[len(s)-1]
				for _, k := range []int{1, 12, length / 2} {
					greatest(t, &n, d, host, ops.Type{DType: dt, Shape: s}, k)
				}
			}
		}
		n.report(t)
	})
}

// greatest compares one top_k with the host's.
func greatest(t *testing.T, n *tally, d, host *exectest.Driver, typ ops.Type, k int) {
	t.Helper()
	out := append(ops.Shape{}, typ.Shape...)
	out[len(out)-1] = k
	types := []ops.Type{{DType: typ.DType, Shape: out}, {DType: ops.S32, Shape: out}}
	data := newSampler(seed(ops.TopK, typ.DType, len(typ.Shape))).draw(typ, ops.Real, false)
	var got [2][2][]byte
	before := d.Exec.Counters().Fallbacks
	for i, on := range []*exectest.Driver{d, host} {
		ids := on.DoAll(ops.TopK, types, [][]int{{k}}, ops.Operand{ID: on.Upload(typ, data)})
		for r, id := range ids {
			var err error
			if got[i][r], err = on.Read(id); err != nil {
				t.Fatalf("top_k %d of %v: %v", k, typ, err)
			}
		}
	}
	n.cases++
	if d.Exec.Counters().Fallbacks == before {
		n.device++
	}
	for r, result := range types {
		if err := compare(got[0][r], got[1][r], result, tolerance{}); err != nil {
			t.Errorf("result %d of top_k %d of %v: %v", r, k, typ, err)
		}
	}
}
