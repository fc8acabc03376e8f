package exec

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// hooked is doubling with a hook in each round, that gives the sum of the round before and what the round gives.
func hooked(n int) *ops.Region {
	r := doubling(n)
	body := r.Body[0].Regions[1]
	sum := op(ops.Sum, res(24, f32()), ref(20))
	sum.Attrs = [][]int{{0}, {0}}
	body.Body = append(body.Body, sum, ops.Instr{Op: ops.Hook, Ins: uses(24, 22), Attrs: [][]int{{3}}})
	return r
}

// TestLoopRunsAhead: a loop whose condition is on the device gives the same, and sends the same messages in the same
// order, whichever number of rounds it has. A GPU records up to mostAhead rounds more than there are.
func TestLoopRunsAhead(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(3)
		pid := etf.Pid{Node: "a@b", ID: 3}
		r.Define(q, "hooked", hooked(3))
		r.Define(q, "plain", doubling(3))
		var calls []Call
		r.exec.core.cfg.Call = func(c Call) { calls = append(calls, c) }
		id := ops.ID(10)
		for _, rounds := range []int{0, 1, 2, 5, 6} {
			for _, key := range []string{"plain", "hooked"} {
				calls = nil
				bound := 6 * (math.Ldexp(1, rounds) - 0.5)
				if rounds == 0 {
					bound = 6
				}
				ahead := r.exec.Counters().Ahead
				r.Tensor(q, 1, 1, 2, 3)
				r.exec.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: key, Callbacks: &pid},
					Instr: ops.Instr{Op: ops.Run, Outs: []ops.Result{res(id, v), res(id+1, f32())}, Ins: []ops.Operand{ref(1), scalar(float32(bound)), scalar(0)}}}})
				factor := float32(math.Ldexp(1, rounds))
				r.Want(q, id, factor, 2*factor, 3*factor)
				r.Want(q, id+1, float32(rounds))
				if key == "hooked" {
					checkHooks(t, calls, rounds)
				}
				gpu := r.exec.core.dev != nil && !r.exec.core.target.CPU
				if got := r.exec.Counters().Ahead - ahead; gpu != (got > 0) || got > uint64(rounds)+mostAhead {
					t.Errorf("%s of %d rounds: %d begun ahead", key, rounds, got)
				}
				id += 2
				r.Built()
			}
		}
	})
}

// checkHooks checks the messages of a run of hooked.
func checkHooks(t *testing.T, calls []Call, rounds int) {
	t.Helper()
	if len(calls) != rounds {
		t.Errorf("%d messages of %d rounds", len(calls), rounds)
		return
	}
	for i, c := range calls {
		factor := float32(math.Ldexp(1, i))
		if sum := math.Float32frombits(binary.LittleEndian.Uint32(c.Data[0])); sum != 6*factor || !slices.Equal(c.Data[1], floats(2*factor, 4*factor, 6*factor)) {
			t.Errorf("message %d of %d: %v, %v", i, rounds, sum, c.Data)
		}
	}
}
