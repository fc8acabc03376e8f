package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/fallback"
	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/synthtest"
	"nxvk/vulkan"
)

// numbers uploads integers of a type.
func (r *rig) numbers(q *Queue, id ops.ID, t ops.Type, v ...int64) {
	var b []byte
	for _, x := range v {
		b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(x))[:t.DType.Size()]...)
	}
	r.Do(q, ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: b}})
}

// integers is a type of indices.
func integers(d ops.DType, shape ...int) ops.Type { return ops.Type{DType: d, Shape: shape} }

// wantIndex checks that a value has the error of an index, which names it.
func (r *rig) wantIndex(q *Queue, id ops.ID, text string) error {
	r.Helper()
	err := r.WantKind(q, id, wire.BadArgument)
	if !errors.Is(err, fallback.ErrIndex) || !strings.Contains(err.Error(), text) {
		r.Fatalf("value %d has %v, want %q", id, err, text)
	}
	return err
}

// indexRigs is rigs, and a device in whose stead the host carries out new kernels.
func indexRigs(t *testing.T, test func(r *rig)) {
	rigs(t, test)
	t.Run("warm-up", func(t *testing.T) {
		r := newRig(t, device(t, vulkan.Options{}))
		if r.exec.core.target.Rounds == synth.Unlike || !r.exec.core.target.CPU {
			t.Skip("the host computes otherwise than the device")
		}
		r.exec.kernels.WarmUp = true
		test(r)
		if r.exec.Counters().Interpreted == 0 {
			t.Error("the host carried out no kernel")
		}
	})
}

// An index that is out of bounds makes its result an error, which names it, and what is
// computed from that; nothing else, in no session. Whatever becomes an error is let go.
func TestIndexPoisons(t *testing.T) {
	for _, c := range []struct {
		d    ops.DType
		v    []int64
		text string
	}{
		{ops.S32, []int64{0, -1, 7}, "index -1 is out of bounds for axis 0 in shape {5}"},
		{ops.S64, []int64{4, 1<<32 + 2, -9}, "index 4294967298 is out of bounds for axis 0"},
		{ops.U8, []int64{1, 2, 255}, "index 255 is out of bounds for axis 0"},
		{ops.S64, []int64{5, 0, 1}, "index 5 is out of bounds for axis 0"},
	} {
		indexRigs(t, func(r *rig) {
			q, other := r.session(), r.session()
			v, i := f32(3), integers(c.d, 3)
			r.Tensor(q, 1, 10, 11, 12, 13, 14)
			r.numbers(q, 2, i, c.v...)
			r.numbers(q, 3, i, 4, 0, 1)
			r.Tensor(other, 1, 1, 2, 3)
			axis := [][]int{{0}}
			for round := range ops.ID(3) {
				id := 100 + 100*round
				r.Do(q, ops.Take, id, v, axis, ref(1), ref(2))
				r.Do(q, ops.Take, id+1, v, axis, ref(1), ref(3))
				r.Do(q, ops.Negate, id+2, v, nil, ref(id))
				r.Do(q, ops.Negate, id+3, v, nil, ref(id+1))
				r.Do(q, ops.Add, id+4, v, nil, ref(id+3), ref(id+2))
				r.Do(q, ops.Reshape, id+5, f32(3, 1), nil, ref(id+2))
				r.Do(other, ops.Negate, id, v, nil, ref(1))
				r.Want(q, id+3, -14, -10, -11)
				first := r.wantIndex(q, id, c.text)
				for _, k := range []ops.ID{2, 4, 5} {
					if again := r.WantKind(q, id+k, wire.BadArgument); again != first {
						r.Errorf("value %d has %v, want %v", id+k, again, first)
					}
				}
				r.Do(q, ops.Exp, id+6, v, nil, ref(id))
				r.wantIndex(q, id+6, c.text)
				r.Want(q, id+1, 14, 10, 11)
				r.Want(other, id, -1, -2, -3)
				for k := range ops.ID(7) {
					r.Free(q, id+k)
				}
				r.Built()
			}
			for id := range ops.ID(4) {
				r.Free(q, id)
			}
			r.Settle(10 * time.Millisecond)
			if n := q.Session.Bytes(); n != 0 {
				r.Errorf("%d bytes are held, want 0", n)
			}
		})
	}
}

// gathering takes elements by two lists of indices, and computes with each and with both.
func gathering() *ops.Region {
	v, i := f32(4), integers(ops.S64, 4)
	take := func(out, idx ops.ID) ops.Instr {
		in := op(ops.Take, res(out, v), ref(1), ref(idx))
		in.Attrs = [][]int{{0}}
		return in
	}
	return &ops.Region{Params: []ops.Result{res(1, f32(6)), res(2, i), res(3, i)}, Values: uses(6, 7, 8), Body: []ops.Instr{
		take(4, 2), take(5, 3),
		op(ops.Negate, res(6, v), ref(4)),
		op(ops.Exp, res(9, v), ref(5)),
		op(ops.Log, res(7, v), ref(9)),
		op(ops.Add, res(8, v), ref(6), ref(7)),
	}}
}

// A program gives the errors of its instructions, fused or not: of the results that are computed
// with the index, and of no other.
func TestIndexProgram(t *testing.T) {
	indexRigs(t, func(r *rig) {
		q, v, i := r.session(), f32(4), integers(ops.S64, 4)
		r.Define(q, "gather", gathering())
		r.Tensor(q, 1, 0, 1, 2, 3, 4, 5)
		r.numbers(q, 2, i, 5, 0, 2, 2)
		r.numbers(q, 3, i, 0, 6, 1, -1)
		for round := range ops.ID(6) {
			id := 100 + 10*round
			outs := func(id ops.ID) []ops.Result { return []ops.Result{res(id, v), res(id+1, v), res(id+2, v)} }
			r.run(q, "gather", outs(id), uses(1, 2, 2)...)
			r.run(q, "gather", outs(id+3), uses(1, 2, 3)...)
			r.Want(q, id, -5, 0, -2, -2)
			if got, err := r.Read(q, id+2, 0, 4); err != nil || math.Abs(float64(got[0])) > 1e-4 {
				t.Fatalf("got %v, %v", got, err)
			}
			r.Want(q, id+3, -5, 0, -2, -2)
			first := r.wantIndex(q, id+4, "take(f32{6}, s64{4}): index 6 is out of bounds for axis 0 in shape {6}")
			if again := r.WantKind(q, id+5, wire.BadArgument); again.Error() != first.Error() {
				t.Errorf("got %v, want %v", again, first)
			}
			r.Built()
		}
	})
}

// A loop whose state is read at an index that leaves the tensor ends with the error: its
// predicate is computed from it. A branch that is not taken gives no error.
func TestIndexControl(t *testing.T) {
	indexRigs(t, func(r *rig) {
		q, i := r.session(), integers(ops.S32, 1)
		take := op(ops.Take, res(21, f32(1)), ref(1), ref(20))
		take.Attrs = [][]int{{0}}
		one := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{1, 0, 0, 0}}}
		sum := op(ops.Sum, res(12, f32()), ref(11))
		sum.Attrs = [][]int{{0}, {0}}
		// While the element is below a bound, take the next one.
		r.Define(q, "walk", &ops.Region{
			Params: []ops.Result{res(1, f32(4)), res(2, i), res(3, f32(1)), res(4, f32())}, Values: uses(5, 6),
			Body: []ops.Instr{{Op: ops.While, Outs: []ops.Result{res(5, i), res(6, f32(1))}, Ins: uses(2, 3), Attrs: [][]int{nil, nil},
				Regions: []*ops.Region{
					{Params: []ops.Result{res(10, i), res(11, f32(1))}, Values: uses(13), Body: []ops.Instr{sum, op(ops.Less, res(13, u8), ref(12), ref(4))}},
					{Params: []ops.Result{res(20, i), res(23, f32(1))}, Values: uses(22, 21), Body: []ops.Instr{take, op(ops.Add, res(22, i), ref(20), one)}},
				}}}})
		pick := op(ops.Take, res(6, f32(1)), ref(1), ref(2))
		pick.Attrs = [][]int{{0}}
		r.Define(q, "either", &ops.Region{
			Params: []ops.Result{res(1, f32(4)), res(2, i), res(3, f32()), res(4, f32(1))}, Values: uses(5),
			Body: []ops.Instr{{Op: ops.Branch, Outs: []ops.Result{res(5, f32(1))}, Ins: uses(3), Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
				{Values: uses(7), Body: []ops.Instr{pick, op(ops.Negate, res(7, f32(1)), ref(6))}},
				{Values: uses(4)},
			}}}})
		r.Tensor(q, 1, 1, 2, 3, 4)
		r.Tensor(q, 3, 0)
		r.numbers(q, 2, i, 0)
		r.numbers(q, 4, i, 4)
		for round := range ops.ID(3) {
			id := 100 + 10*round
			r.run(q, "walk", []ops.Result{res(id, i), res(id+1, f32(1))}, ref(1), ref(2), ref(3), scalar(3))
			r.Want(q, id+1, 3)
			r.run(q, "walk", []ops.Result{res(id+2, i), res(id+3, f32(1))}, ref(1), ref(2), ref(3), scalar(9))
			r.wantIndex(q, id+3, "index 4 is out of bounds")
			r.wantIndex(q, id+2, "index 4 is out of bounds")
			r.run(q, "either", []ops.Result{res(id+4, f32(1))}, ref(1), ref(4), scalar(0), ref(3))
			r.Want(q, id+4, 0)
			r.run(q, "either", []ops.Result{res(id+5, f32(1))}, ref(1), ref(4), scalar(1), ref(3))
			r.wantIndex(q, id+5, "index 4 is out of bounds")
			r.Built()
		}
	})
}

// A value that another session imports has its error there, also if the first session ends.
func TestIndexImport(t *testing.T) {
	indexRigs(t, func(r *rig) {
		q, other := r.session(), r.session()
		r.Tensor(q, 1, 1, 2, 3)
		r.numbers(q, 2, integers(ops.S32, 2), 1, 3)
		r.numbers(q, 3, integers(ops.S32, 2), 1, 2)
		r.Do(q, ops.Take, 4, f32(2), [][]int{{0}}, ref(1), ref(2))
		r.Do(q, ops.Take, 5, f32(2), [][]int{{0}}, ref(1), ref(3))
		for id := ops.ID(4); id <= 5; id++ {
			r.exec.Stream(other, []wire.Instr{{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{res(id, f32(2))}},
				Shared: &wire.Shared{Owner: etf.Pid{Node: "test@host", ID: uint32(q.Session.Owner.ID), Creation: 7}, Key: q.Session.Key, ID: id}}})
			r.Do(other, ops.Negate, id+10, f32(2), nil, ref(id))
		}
		r.Until(func() bool {
			_, first := other.Session.Get(4)
			_, second := other.Session.Get(5)
			return first && second
		})
		r.exec.End(q.Session)
		r.Want(other, 15, -2, -3)
		r.wantIndex(other, 14, "index 3 is out of bounds")
		r.wantIndex(other, 4, "index 3 is out of bounds")
		r.Want(other, 5, 2, 3)
	})
}

// Random programs that read at indices, also at such out of bounds, have the errors on a device
// that they have on the host, value by value: one by one, in fusions, and one after the other in
// a session.
func TestIndexRandom(t *testing.T) {
	for _, addresses := range []bool{false, true} {
		host, r := newRig(t, nil), newRig(t, device(t, vulkan.Options{}))
		if addresses {
			r.exec.core.target.Addresses, r.exec.core.target.CPU = true, false
		}
		one, two := host.session(), r.session()
		wrong := 0
		for seed := range uint64(25) {
			g := synthtest.GrowGathers(t, seed, 4+int(seed)%9, seed%2 == 1)
			outcomes := func(r *rig, q *Queue) (list []error) {
				region := &ops.Region{Params: g.Params, Body: g.Body}
				var ins []ops.Operand
				for i, p := range g.Params {
					id := ops.ID(1 + i)
					r.Do(q, ops.Tensor, id, p.Type, nil, ops.Operand{Lit: &ops.Literal{Type: p.Type, Data: g.Inputs(seed)[p.ID][:p.Type.Bytes()]}})
					ins = append(ins, ref(id))
				}
				var outs []ops.Result
				for i, id := range g.Keep {
					region.Values = append(region.Values, ref(id))
					outs = append(outs, res(ops.ID(100+i), g.Types[id]))
				}
				key := fmt.Sprint(seed)
				r.Define(q, key, region)
				for round := range ops.ID(3) {
					for i := range outs {
						outs[i].ID += 100
					}
					r.run(q, key, slices.Clone(outs), ins...)
					for _, o := range outs {
						_, err := r.Read(q, o.ID, 0, 0)
						if round == 0 {
							list = append(list, err)
						} else if first := list[int(o.ID)%100]; (first == nil) != (err == nil) {
							t.Fatalf("seed %d: run %d has %v, the first %v", seed, round, err, first)
						}
					}
					r.Built()
				}
				return list
			}
			want, got := outcomes(host, one), outcomes(r, two)
			for i := range want {
				if errors.Is(want[i], fallback.ErrIndex) != errors.Is(got[i], fallback.ErrIndex) || (want[i] == nil) != (got[i] == nil) {
					t.Fatalf("seed %d, value %d: the device has %v, the host %v, of\n%s", seed, i, got[i], want[i], synthtest.String(&g.Graph))
				}
				if want[i] != nil {
					wrong++
				}
			}
		}
		if wrong < 5 {
			t.Errorf("only %d values are wrong", wrong)
		}
	}
}

// Indices that have been freed count for the limit of a session only until the device has
// used them.
func TestIndexLimit(t *testing.T) {
	rigs(t, func(r *rig) {
		q, i := r.session(), integers(ops.S64, 256)
		r.Tensor(q, 1, 3, 4, 5)
		q.Session.Limit = q.Session.Bytes() + 4*2048
		id := ops.ID(1)
		for range 40 {
			r.numbers(q, id+1, i, make([]int64, 256)...)
			r.Do(q, ops.Take, id+2, f32(256), [][]int{{0}}, ref(1), ref(id+1))
			r.Free(q, id+1)
			if id > 1 {
				r.Free(q, id)
			}
			id += 2
		}
		if got, err := r.Read(q, id, 0, 2); err != nil || got[0] != 3 {
			r.Fatalf("got %v, %v", got, err)
		}
	})
}

// A long chain of reads at indices keeps neither words nor indices: each is let go when its
// submission is complete.
func TestManyIndices(t *testing.T) {
	rigs(t, func(r *rig) {
		q, i := r.session(), integers(ops.S32, 3)
		r.Tensor(q, 1, 3, 4, 5)
		id := ops.ID(1)
		for range 400 {
			r.numbers(q, id+1, i, 2, 1, 0)
			r.Do(q, ops.Take, id+2, f32(3), [][]int{{0}}, ref(id), ref(id+1))
			r.Free(q, id+1)
			r.Free(q, id)
			id += 2
		}
		r.Want(q, id, 3, 4, 5)
		r.numbers(q, id+1, i, 0, 0, 8)
		r.Do(q, ops.Take, id+2, f32(3), [][]int{{0}}, ref(id), ref(id+1))
		r.wantIndex(q, id+2, "index 8")
		r.Free(q, id)
		r.Free(q, id+1)
		r.Free(q, id+2)
		r.Settle(10 * time.Millisecond)
		if n := q.Session.Bytes(); n != 0 {
			r.Errorf("%d bytes are held, want 0", n)
		}
		if f := r.exec.core.feed(q); f != nil && f.Checks() > 0 {
			r.Errorf("%d checks are open", f.Checks())
		}
	})
}
