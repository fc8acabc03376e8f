package exec

import (
	"math"
	"strings"
	"testing"

	"nxvk/gen/exec/program"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// noted carries out an instruction of which the client has said where it was sent.
func (r *rig) noted(q *Queue, note string, in wire.Instr) {
	in.Name, in.Note = in.Op.String(), note
	r.exec.Stream(q, []wire.Instr{in})
}

// TestNote: an error says where its instruction was sent, or the run that it belongs
// to, and keeps that on its way through what works on the result.
func TestNote(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2)
		add := func(out, a, b ops.ID, n int) wire.Instr {
			return wire.Instr{Instr: ops.Instr{Op: ops.Add, Ins: uses(a, b), Outs: []ops.Result{res(out, f32(n))}}}
		}
		r.noted(q, "a.ex:1", add(2, 1, 1, 2))
		r.noted(q, "a.ex:2", add(3, 2, 2, 3))
		r.noted(q, "a.ex:3", add(4, 3, 2, 2))
		r.Want(q, 2, 2, 4)
		for _, id := range []ops.ID{3, 4} {
			_, err := r.Read(q, id, 0, math.MaxInt)
			if err == nil || !strings.HasSuffix(err.Error(), "; sent by a.ex:2") || !strings.HasPrefix(err.Error(), "add(") ||
				wire.KindOf(err) != wire.BadArgument {
				t.Errorf("%d: %v", id, err)
			}
		}
		r.Define(q, "take", &ops.Region{Params: []ops.Result{res(1, f32(2)), res(2, ops.Type{DType: ops.S32, Shape: ops.Shape{1}})},
			Values: uses(3), Body: []ops.Instr{{Op: ops.Take, Ins: uses(1, 2), Outs: []ops.Result{res(3, f32(1))}, Attrs: [][]int{{0}}}}})
		index := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32, Shape: ops.Shape{1}}, Data: []byte{9, 0, 0, 0}}}
		run := wire.Instr{Instr: ops.Instr{Op: ops.Run, Ins: []ops.Operand{ref(1), index}, Outs: []ops.Result{res(5, f32(1))}},
			Defines: wire.Defines{Key: "take"}}
		r.noted(q, "a.ex:4", run)
		if err := r.WantKind(q, 5, wire.BadArgument); !strings.HasPrefix(err.Error(), "take(") || !strings.HasSuffix(err.Error(), "; sent by a.ex:4") {
			t.Errorf("of a run: %v", err)
		}
	})
}

// TestNameOfFusion: errors call a fusion by its operations.
func TestNameOfFusion(t *testing.T) {
	body := func(list ...ops.Op) (b []wire.Instr) {
		for _, o := range list {
			b = append(b, wire.Instr{Name: o.String(), Instr: ops.Instr{Op: o}})
		}
		return b
	}
	for want, list := range map[string][]ops.Op{
		"add":                               {ops.Add},
		"add+sum":                           {ops.Add, ops.Add, ops.Sum},
		"add+sum+add+sum+add+sum+…":         {ops.Add, ops.Sum, ops.Add, ops.Sum, ops.Add, ops.Sum, ops.Add},
		"negate+abs+negate+abs+negate+sqrt": {ops.Negate, ops.Abs, ops.Negate, ops.Abs, ops.Negate, ops.Sqrt},
	} {
		if got := program.NameOf(body(list...)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
