package exec

import (
	"math/rand/v2"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// rounds is a loop with what rounds of generations have: products, a cache that is updated, a reduction of the host or of
// the device, a hook, and a condition that is computed.
func rounds() *ops.Region {
	n, cache, s, count := f32(48, 48), f32(64, 48), f32(), ops.Type{DType: ops.S32}
	body := []ops.Instr{
		op(ops.Dot, res(11, n), ref(8), ref(8)),
		{Op: ops.Tanh, Outs: []ops.Result{res(12, n)}, Ins: uses(11)},
		{Op: ops.Slice, Outs: []ops.Result{res(13, f32(1, 48))}, Ins: uses(12), Attrs: [][]int{{3, 0}, {1, 48}, {1, 1}}},
		op(ops.Remainder, res(14, count), ref(7), word(60)),
		{Op: ops.PutSlice, Outs: []ops.Result{res(15, cache)}, Ins: append(uses(9, 13, 14), word(0)), Attrs: [][]int{{}}},
		{Op: ops.CumulativeSum, Outs: []ops.Result{res(18, cache)}, Ins: uses(15), Attrs: [][]int{{0}, {0}}},
		{Op: ops.Sum, Outs: []ops.Result{res(16, s)}, Ins: uses(18), Attrs: [][]int{{0, 1}, {0}}},
		{Op: ops.Hook, Ins: uses(16), Attrs: [][]int{{0}}},
		op(ops.Add, res(17, count), ref(7), word(1)),
	}
	body[0].Attrs = [][]int{{1}, {}, {0}, {}}
	condition := []ops.Instr{op(ops.GreaterEqual, res(6, ops.Type{DType: ops.U8}), ref(4), word(0))}
	return &ops.Region{Params: []ops.Result{res(1, count), res(2, n), res(3, cache)}, Values: uses(21, 22), Body: []ops.Instr{{
		Op: ops.While, Attrs: [][]int{nil, nil}, Ins: uses(1, 2, 3), Outs: []ops.Result{res(20, count), res(21, n), res(22, cache)}, Regions: []*ops.Region{
			{Params: []ops.Result{res(4, count), res(5, n), res(10, cache)}, Body: condition, Values: uses(6)},
			{Params: []ops.Result{res(7, count), res(8, n), res(9, cache)}, Body: body, Values: uses(17, 12, 15)},
		}}}}
}

// TestEndedAnywhere: wherever in its rounds a loop is ended, it holds nothing afterwards.
func TestEndedAnywhere(t *testing.T) {
	rigs(t, func(r *rig) {
		r.exec.core.cfg.Call = func(Call) {}
		q, rng := r.session(), rand.New(rand.NewPCG(1, 61))
		r.Define(q, "rounds", rounds())
		for range 60 {
			r.Do(q, ops.Iota, 1, f32(48, 48), [][]int{{1}})
			r.Do(q, ops.Iota, 2, f32(64, 48), [][]int{{0}})
			r.exec.Stream(q, []wire.Instr{{Name: "run", Instr: ops.Instr{Op: ops.Run, Outs: []ops.Result{res(3, f32(48, 48)), res(4, f32(64, 48))},
				Ins: []ops.Operand{word(0), ref(1), ref(2)}},
				Defines: wire.Defines{Key: "rounds", Callbacks: &etf.Pid{Node: "a@b"}}}})
			begun, after := time.Now(), time.Duration(rng.IntN(4000))*time.Microsecond
			r.Until(func() bool { return time.Since(begun) >= after })
			r.Do(q, ops.Cancel, 0, ops.Type{}, [][]int{{3}})
			r.WantKind(q, 3, wire.Cancelled)
			r.Do(q, ops.Free, 0, ops.Type{}, [][]int{{1, 2, 3, 4}})
		}
		r.Until(func() bool { return q.Session.Bytes() == 0 })
	})
}
