package exec

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/transfer"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// What takes the goroutine of the Executor long is done apart from it: the session that
// wants it waits, others do not. In these tests nothing that comes from elsewhere is taken
// in before the other session has asked.

// served checks that another session is served while a queue waits.
func (r *rig) served(q *Queue) {
	r.Helper()
	if q.waits == 0 {
		r.Error("the queue does not wait")
	}
	other := r.session()
	r.Tensor(other, 1, 5, 6)
	got := []byte(nil)
	r.exec.Read(other, 1, 0, 2, func(d Data, err error) {
		if err != nil {
			r.Error(err)
		}
		got = slices.Clone(d.Bytes)
	})
	if !slices.Equal(got, floats(5, 6)) {
		r.Errorf("the other session read %v at once", got)
	}
	if q.waits == 0 {
		r.Error("the queue did not wait")
	}
}

// A plan of many kernels.
func TestPlanApart(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	plan := func(q *Queue) {
		r.served(q)
		if !r.plans(q) {
			t.Error("it does not wait for a plan")
		}
	}
	for _, oneByOne := range []bool{true, false} {
		r.exec.core.cfg.OneByOne = oneByOne
		r.exec.kernels.Clear()
		r.exec.recorder.signatures.Clear()
		q := r.session()
		r.Tensor(q, 1, 3, 1, 2)
		r.Do(q, ops.Sort, 2, f32(3), [][]int{{0}, {0}, {0}}, ref(1))
		plan(q)
		r.Want(q, 2, 1, 2, 3)
	}
}

// The instructions of a long program, and of one with loops.
func TestDefineApart(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		p := &ops.Region{Params: []ops.Result{res(1, f32(2))}, Values: uses(4001)}
		for i := range 4000 {
			p.Body = append(p.Body, op(ops.Multiply, res(ops.ID(2+i), f32(2)), ref(ops.ID(1+i)), scalar(1)))
		}
		r.Tensor(q, 1, 5, 7)
		for key, region := range map[string]*ops.Region{"long": p, "loop": doubling(2)} {
			r.exec.Stream(q, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: key, Program: region}}})
			r.served(q)
			r.Until(func() bool { return q.waits == 0 })
		}
		r.run(q, "long", []ops.Result{res(2, f32(2))}, ref(1))
		r.Want(q, 2, 5, 7)
	})
}

// Data on their way to the device, straight or by way of memory that the device copies from.
func TestUploadApart(t *testing.T) {
	for _, unmapped := range []bool{false, true} {
		r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: unmapped}}))
		q := r.session()
		const n = 10 << 20 // three pieces
		data := make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i%65_521)))
		}
		r.Do(q, ops.Tensor, 1, f32(n), nil, ops.Operand{Lit: &ops.Literal{Type: f32(n), Data: data}})
		r.Do(q, ops.Negate, 2, f32(n), nil, ref(1))
		r.exec.recorder.flushTrace(q)
		for r.exec.core.cfg.Work.Stats().Started[hostjob.WorkCopy] == 0 {
			(<-r.Posted)() // until its kernel is there
		}
		r.served(q)
		for _, at := range []int{0, transfer.PieceBytes/4 - 1, transfer.PieceBytes / 4, n - 1} {
			got, err := r.Read(q, 2, at, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want := -float32(at % 65_521); got[0] != want {
				t.Errorf("element %d is %v, want %v", at, got[0], want)
			}
		}
	}
}

// An upload that a deadline interrupts begins again.
func TestUploadAfterCancel(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: true}}))
	q := r.session()
	const n = 10 << 20
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i%65_521)))
	}
	r.Do(q, ops.Tensor, 1, f32(n), nil, ops.Operand{Lit: &ops.Literal{Type: f32(n), Data: data}})
	r.Do(q, ops.Negate, 2, f32(n), nil, ref(1))
	r.exec.recorder.flushTrace(q)
	for r.exec.core.cfg.Work.Stats().Started[hostjob.WorkCopy] < 2 {
		(<-r.Posted)() // until a piece is recorded
	}
	q.feed.Cancel(&wire.Fault{Kind: wire.Deadline, Err: kernels.ErrBeingMade})
	for _, at := range []int{0, transfer.PieceBytes/4 - 1, n - 1} {
		got, err := r.Read(q, 2, at, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := -float32(at % 65_521); got[0] != want {
			t.Errorf("element %d is %v, want %v", at, got[0], want)
		}
	}
}
