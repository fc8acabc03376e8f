package exec

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/memory"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// hostRig is a rig of the host alone with a limit of its memory.
func hostRig(t *testing.T, limit int64) (*rig, *memory.Host) {
	t.Helper()
	r, h := newRig(t, nil), memory.NewHost(limit)
	r.exec.memory.Host = h
	return r, h
}

// arrive uploads n numbers as a large binary that came from the network, or
// returns that there was no memory for it.
func (r *rig) arrive(q *Queue, id ops.ID, n int) error {
	r.Helper()
	b, err := memory.NewAllocator(nil, r.exec.memory.Host).Alloc(4 * n)
	if err != nil {
		return err
	}
	clear(b.Bytes())
	bin := etf.NewBinary(b, 4*n)
	r.Do(q, ops.Tensor, id, f32(n), nil, ops.Operand{Lit: &ops.Literal{Type: f32(n), Data: bin.Bytes(), Hold: bin}})
	return nil
}

func (r *rig) wantUsed(h *memory.Host, want int64) {
	r.Helper()
	r.Settle(time.Millisecond) // reads give back what they held
	if got := h.Used(); got != want {
		r.Errorf("%d bytes of the host are in use, want %d", got, want)
	}
}

// The limit holds over all sessions, for small values and for large ones; who
// goes beyond it is told, and nobody else.
func TestHostOutOfMemory(t *testing.T) {
	for name, n := range map[string]int{"small": 1000, "large": 1 << 16} {
		t.Run(name, func(t *testing.T) {
			bytes := int64(4 * n)
			r, h := hostRig(t, 3*bytes+bytes/2)
			modest, greedy := r.session(), r.session()
			r.Do(modest, ops.Iota, 1, f32(n), [][]int{{-1}})
			r.Do(greedy, ops.Iota, 1, f32(n), [][]int{{-1}})
			r.Do(greedy, ops.Negate, 2, f32(n), nil, ref(1))
			r.Do(greedy, ops.Exp, 3, f32(n), nil, ref(1))
			err := r.WantKind(greedy, 3, wire.OutOfMemory)
			for _, part := range []string{"exp", "allocate", "out of host memory", "in use", "limit", "--memory-limit", "holds"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			r.wantUsed(h, 3*bytes)
			if got, err := r.Read(modest, 1, n-1, 1); err != nil || got[0] != float32(n-1) {
				t.Errorf("another session reads %v, %v", got, err)
			}
			r.Free(greedy, 2)
			r.Do(greedy, ops.Exp, 4, f32(n), nil, ref(1))
			if got, err := r.Read(greedy, 4, 0, 1); err != nil || got[0] != 1 {
				t.Errorf("after a free: %v, %v", got, err)
			}
			r.exec.End(greedy.Session)
			r.exec.End(modest.Session)
			r.wantUsed(h, 0)
		})
	}
}

// Results of several tensors are taken whole or not at all.
func TestHostOutOfMemoryPartly(t *testing.T) {
	r, h := hostRig(t, 1000)
	q := r.session()
	r.Do(q, ops.Iota, 1, f32(100), [][]int{{-1}})
	in := wire.Instr{Name: "top_k", Instr: ops.Instr{Op: ops.TopK, Attrs: [][]int{{100}}, Ins: []ops.Operand{ref(1)},
		Outs: []ops.Result{{ID: 2, Type: f32(100)}, {ID: 3, Type: ops.Type{DType: ops.S32, Shape: ops.Shape{100}}}}}}
	r.exec.Stream(q, []wire.Instr{in})
	r.WantKind(q, 2, wire.OutOfMemory)
	r.WantKind(q, 3, wire.OutOfMemory)
	r.wantUsed(h, 400)
}

// Before anybody is refused, sessions are asked to free what they can.
func TestHostSweep(t *testing.T) {
	r, h := hostRig(t, 1000)
	q, other := r.session(), r.session()
	r.Tensor(other, 1, make([]float32, 200)...)
	asked := 0
	r.exec.memory.Sweep = func() int { asked++; return 1 }
	r.Tensor(q, 1, make([]float32, 100)...)
	if asked != 1 || q.waits == 0 {
		t.Fatalf("sessions were asked %d times to sweep, want once", asked)
	}
	r.Free(other, 1)
	r.exec.Swept()
	r.Want(q, 1, make([]float32, 100)...)
	r.wantUsed(h, 400)
}

// Who waits for sessions that have been asked to free what they can goes on waiting when another session ends meanwhile, and is
// refused when they have answered in vain, or when their time is over.
func TestSweepIsAwaited(t *testing.T) {
	for _, answer := range []string{"frees", "in vain", "never"} {
		t.Run(answer, func(t *testing.T) {
			r, _ := hostRig(t, 1<<20)
			q, other := r.session(), r.session()
			q.Session.Limit = 100
			r.exec.memory.Sweep = func() int { return 1 }
			started := time.Now()
			r.Tensor(q, 1, make([]float32, 20)...)
			r.Tensor(q, 2, make([]float32, 20)...)
			r.exec.End(other.Session)
			r.exec.memory.Retry()
			if time.Since(started) < memory.SweepTime && q.waits == 0 {
				t.Fatal("it does not wait for the answer any more")
			}
			switch answer {
			case "frees":
				r.Free(q, 1)
				r.exec.Swept()
				r.Want(q, 2, make([]float32, 20)...)
				return
			case "in vain":
				r.exec.Swept()
			}
			r.WantKind(q, 2, wire.Limit)
			if waited := time.Since(started); answer == "never" && waited < memory.SweepTime {
				t.Errorf("refused after %v", waited)
			}
		})
	}
}

// Data that arrives may exceed the limit by a quarter until its turn: then it
// fits, or is refused and gone.
func TestHostArrivals(t *testing.T) {
	const n = 1 << 14
	r, h := hostRig(t, 4*4*n)
	q := r.session()
	for id := range ops.ID(5) {
		if err := r.arrive(q, id+1, n); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Read(q, 4, 0, 1); err != nil || got[0] != 0 {
		t.Errorf("within the limit: %v, %v", got, err)
	}
	r.WantKind(q, 5, wire.OutOfMemory)
	r.wantUsed(h, 4*4*n)
	if err := r.arrive(q, 6, 2*n); !strings.Contains(err.Error(), store.ErrOutOfMemory.Error()) {
		t.Errorf("beyond the limit and a quarter: %v", err)
	}
	r.exec.End(q.Session)
	r.wantUsed(h, 0)
}

// A size that no machine has is refused like any other.
func TestHostAbsurdSize(t *testing.T) {
	h := memory.NewHost(0)
	for _, n := range []int{1 << 50, 1 << 62, math.MaxInt} {
		if _, err := h.Alloc(n); err == nil || !strings.Contains(err.Error(), store.ErrOutOfMemory.Error()) {
			t.Errorf("%d bytes: %v, want %v", n, err, store.ErrOutOfMemory)
		}
	}
	if h.Used() != 0 {
		t.Errorf("%d bytes are in use", h.Used())
	}
}

// What a device reads back for work on the host is of the host's memory.
func TestHostReadBack(t *testing.T) {
	const n = 1 << 10
	f64 := ops.Type{DType: ops.F64, Shape: ops.Shape{n}}
	r := newRig(t, device(t, vulkan.Options{}))
	r.exec.core.target.Float64 = false
	q := r.session()
	r.Do(q, ops.Iota, 1, f32(n), [][]int{{-1}})
	r.exec.memory.Host = memory.NewHost(4*n - 1)
	r.Do(q, ops.AsType, 2, f64, nil, ref(1))
	r.WantKind(q, 2, wire.OutOfMemory)
	r.wantUsed(r.exec.memory.Host, 0)
	r.exec.memory.Host = memory.NewHost(12 * n)
	r.Do(q, ops.AsType, 3, f64, nil, ref(1))
	if _, err := r.Read(q, 3, 0, 1); err != nil {
		t.Error(err)
	}
	copied := int64(4 * n)
	if v, _ := q.Session.Get(1); v.Mem.Dev.Readable() { // the host reads it where it is
		copied = 0
	}
	r.wantUsed(r.exec.memory.Host, 8*n+copied)
}

// What a reader has been lent stays as it is while the device takes the value over from the host.
func TestReadBesideUpload(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: true, Uncached: true}}))
	q := r.session()
	const n = 1 << 20
	if err := r.arrive(q, 1, n); err != nil {
		t.Fatal(err)
	}
	var lent Data
	r.exec.Read(q, 1, 0, math.MaxInt, func(d Data, err error) {
		if err != nil {
			t.Fatal(err)
		}
		lent = d
	})
	r.Do(q, ops.Negate, 2, f32(n), nil, ref(1))
	r.Want(q, 2, make([]float32, n)...)
	b, err := r.exec.memory.Host.Alloc(4 * n) // the next value of the size
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Bytes() {
		b.Bytes()[i] = 7
	}
	if at := bytes.IndexByte(lent.Bytes, 7); at >= 0 {
		t.Errorf("byte %d of what was lent has changed", at)
	}
	b.Free()
	lent.Release()
	r.Free(q, 1)
	r.Free(q, 2)
	r.wantUsed(r.exec.memory.Host, 0)
}
