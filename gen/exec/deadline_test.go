package exec

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

func floatOf(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// chainOf are products of a square matrix, value 1, each of which needs the one before.
func chainOf(n, length int) []wire.Instr {
	var list []wire.Instr
	for i := range length {
		list = append(list, wire.Instr{Name: "dot", Instr: ops.Instr{Op: ops.Dot, Attrs: [][]int{{1}, {}, {0}, {}}, Ins: []ops.Operand{ref(ops.ID(1 + i)), ref(1)},
			Outs: []ops.Result{{ID: ops.ID(2 + i), Type: f32(n, n)}}}})
	}
	return list
}

// What a device has not computed when the deadline of a session passes carries the error,
// in the session and where it was imported, and the device goes on. What another session
// has recorded behind it is computed.
func TestDeadlineOfDevice(t *testing.T) {
	const n, length = 512, 48
	r := newRig(t, device(t, vulkan.Options{}))
	q, other := r.session(), r.session()
	r.Do(q, ops.Iota, 1, f32(n, n), [][]int{{-1}})
	r.Tensor(other, 1, 1, 2)
	if _, err := r.Read(q, 1, 0, 1); err != nil {
		t.Fatal(err)
	}
	share := func(to, id ops.ID) {
		r.exec.Stream(other, []wire.Instr{{Name: "import", Shared: &wire.Shared{
			ID: id, Key: q.Session.Key, Owner: etf.Pid{Node: "test@host", ID: uint32(q.Session.Owner.ID), Creation: 7}},
			Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{res(to, f32(n, n))}}}})
	}
	r.exec.Stream(q, chainOf(n, length))
	r.Until(func() bool {
		r.exec.recorder.flushTrace(q)
		return q.trace == nil && q.running == nil && q.queue.Len() == 0
	})
	share(2, 2)
	share(3, length+1)
	r.Do(other, ops.Add, 4, f32(n, n), nil, ref(2), ref(2))
	four, failed := []float32(nil), error(nil)
	r.exec.Read(other, 4, 0, 2, func(d Data, err error) {
		if four, failed = []float32{0, 0}, err; err == nil {
			four[0], four[1] = floatOf(d.Bytes), floatOf(d.Bytes[4:])
			d.Release()
		}
	})
	r.Until(func() bool { return other.queue.Len() == 0 })
	r.exec.core.feeds.Flush()
	q.Session.Deadline = time.Nanosecond
	q.feed.Guard()
	t.Log(r.WantKind(q, length+1, wire.Deadline))
	q.Session.Deadline = 0
	r.WantKind(other, 3, wire.Deadline)
	r.Until(func() bool { return four != nil })
	if failed != nil {
		t.Fatalf("what another session has recorded: %v", failed)
	}
	r.Do(q, ops.Dot, 100, f32(n, n), [][]int{{1}, {}, {0}, {}}, ref(1), ref(1))
	got, err := r.Read(q, 100, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if four[i] != 2*x {
			t.Errorf("element %d is %v, twice that is %v in the other session", i, x, four[i])
		}
	}
	r.Want(other, 1, 1, 2)
	synced := false
	r.exec.Sync(q, func(err error) {
		if synced = true; err != nil {
			t.Errorf("sync: %v", err)
		}
	})
	r.Until(func() bool { return synced && r.exec.core.feeds.InFlight() == 0 })
}

// A run that the device works on for too long ends so as well.
func TestDeadlineOfRun(t *testing.T) {
	const n, length = 512, 48
	r := newRig(t, device(t, vulkan.Options{}))
	q := r.session()
	r.Do(q, ops.Iota, 1, f32(n, n), [][]int{{-1}})
	var body []ops.Instr
	for _, in := range chainOf(n, length) {
		body = append(body, in.Instr)
	}
	r.Define(q, "chain", &ops.Region{Params: []ops.Result{{ID: 1, Type: f32(n, n)}}, Body: body, Values: uses(length + 1)})
	if _, err := r.Read(q, 1, 0, 1); err != nil {
		t.Fatal(err)
	}
	q.Session.Deadline = time.Nanosecond
	r.exec.Stream(q, []wire.Instr{{Name: "run", Instr: ops.Instr{Op: ops.Run, Ins: uses(1), Outs: []ops.Result{{ID: 200, Type: f32(n, n)}}}, Defines: wire.Defines{Key: "chain"}}})
	r.WantKind(q, 200, wire.Deadline)
	q.Session.Deadline = 0
	if _, err := r.Read(q, 1, 0, 1); err != nil {
		t.Error(err)
	}
	r.Until(func() bool { return r.exec.core.feeds.InFlight() == 0 })
	if used := r.Dev.Stats().InUse; used < 4*n*n || used > 8*4*n*n {
		t.Errorf("%d bytes are in use", used)
	}
}

// An operand whose way to the device was cancelled goes there again.
func TestDeadlineOfUpload(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: true}}))
	n, length := 512, 48
	if r.Dev.Info().Kind != vulkan.CPU { // which would be done with that before the deadline is looked at
		n, length = 2048, 64
	}
	q := r.session()
	r.Do(q, ops.Iota, 1, f32(n, n), [][]int{{-1}})
	small := []float32{3, 4}
	r.Tensor(q, 200, small...)
	if _, err := r.Read(q, 1, 0, 1); err != nil {
		t.Fatal(err)
	}
	q.Session.Deadline = time.Nanosecond
	r.exec.Stream(q, chainOf(n, length))
	r.Do(q, ops.Add, 201, f32(2), nil, ref(200), ref(200))
	r.WantKind(q, 201, wire.Deadline)
	q.Session.Deadline = 0
	r.Do(q, ops.Add, 202, f32(2), nil, ref(200), ref(200))
	r.Want(q, 202, 6, 8)
	if got, err := r.Read(q, 200, 0, 2); err != nil || !slices.Equal(got, small) {
		t.Errorf("got %v, %v; want %v", got, err, small)
	}
}
