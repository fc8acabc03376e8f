package exec

import (
	"slices"
	"testing"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// asking goes round as often as its third parameter says, and asks in each round. What it makes of the first parameter, the loop
// captures; a branch and a loop are inside, and what is behind the loop needs what is before it.
const asking = `(%1:f32[300], %2:f32, %3:s32) {
  %4:f32[300] = cos %1
  %5:f32[300], %6:s32 = while %1, s32(0) condition(%7:f32[300], %8:s32) {
    %9:u8 = less %8, %3
    give %9
  } body(%10:f32[300], %11:s32) {
    %12:f32[300] = multiply %10, %2
    %13:f32[300] = tanh %12
    %14:f32[300] = add %13, %4
    %15:f32[300] = sin %14
    %16:f32 = callback index=0
    %17:f32[300] = add %15, %16
    %18:u8 = less %11, s32(3)
    %19:f32[300] = branch %18 then() {
      %20:f32[300] = exp %17
      %21:f32[300] = subtract %20, %4
      give %21
    } otherwise() {
      %22:f32[300] = negate %17
      %23:f32[300] = abs %22
      give %23
    }
    %24:s32 = add %11, s32(1)
    give %19, %24
  }
  %25:f32[300] = multiply %5, %4
  give %25, %6
}
`

// TestLoopGetsFusions: a loop in the first run of a program goes on with fusions once it has had some rounds, and its results are those of a
// run that begins with them.
func TestLoopGetsFusions(t *testing.T) {
	region, err := notation.Parse(asking)
	if err != nil {
		t.Fatal(err)
	}
	const all = 40
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(300)
		var call Call
		r.exec.core.cfg.Call = func(c Call) { call = c }
		r.Define(q, "rounds", region)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		count := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{all, 0, 0, 0}}}
		run := func(out ops.ID) (dispatches [all]uint64, result []float32) {
			r.exec.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: "rounds", Callbacks: &asked}, Instr: ops.Instr{Op: ops.Run,
				Outs: []ops.Result{res(out, v), res(out+1, ops.Type{DType: ops.S32})}, Ins: []ops.Operand{ref(1), scalar(0.5), count}}}})
			for i := range all {
				before := r.exec.Counters().Dispatches + r.exec.Counters().Interpreted
				r.Until(func() bool { return call.Run == out && call.Ref != 0 })
				ref := call.Ref
				call = Call{}
				r.Built()
				r.exec.Answer(asked, out, ref, [][]byte{floats(float32(i) / 64)}, nil)
				if i < all-1 {
					r.Until(func() bool { return call.Ref != 0 })
				}
				dispatches[i] = r.exec.Counters().Dispatches + r.exec.Counters().Interpreted - before
			}
			result, err := r.Read(q, out, 0, 1200)
			if err != nil {
				t.Fatal(err)
			}
			return dispatches, result
		}
		first, got := run(10)
		run(20)
		r.Built()
		third, want := run(30)
		if !slices.Equal(got, want) {
			t.Error("a loop that got its fusions meanwhile has other results")
		}
		if r.Dev != nil && first[all-2] != third[all-2] {
			t.Errorf("dispatches of the rounds: %v and %v", first, third)
		}
	})
}
