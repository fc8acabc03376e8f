package exec

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/feed"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

func TestChain(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2, 3)
		for id := ops.ID(2); id <= 1001; id++ {
			r.Do(q, ops.Add, id, f32(3), nil, ref(id-1), scalar(1))
			if id > 2 {
				r.Free(q, id-1)
			}
		}
		r.Want(q, 1001, 1001, 1002, 1003)
		if n := q.Session.Buffers(); n != 2 {
			r.Errorf("%d values are held, want 2", n)
		}
		r.Free(q, 1)
		r.Free(q, 1001)
		r.Settle(10 * time.Millisecond)
		if n := q.Session.Bytes(); n != 0 {
			r.Errorf("%d bytes are held, want 0", n)
		}
	})
}

func TestReadPart(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 0, 1, 2, 3, 4)
		r.Do(q, ops.Negate, 2, f32(5), nil, ref(1))
		for _, c := range []struct{ off, n, want int }{{0, 5, 5}, {3, 9, 2}, {5, 1, 0}, {1, 2, 2}} {
			got, err := r.Read(q, 2, c.off, c.n)
			if err != nil || len(got) != c.want {
				r.Errorf("read %d from %d: got %v, %v", c.n, c.off, got, err)
			}
			for i, v := range got {
				if v != -float32(c.off+i) {
					r.Errorf("read %d from %d: got %v", c.n, c.off, got)
				}
			}
		}
		if _, err := r.Read(q, 2, 6, 1); wire.KindOf(err) != wire.BadArgument {
			r.Errorf("read beyond the end: got %v", err)
		}
	})
}

// An error stays with the result, goes through what depends on it unchanged,
// and through nothing else.
func TestPoison(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2, 3)
		r.Tensor(q, 2, 1, 2)
		r.Do(q, ops.Add, 3, f32(3), nil, ref(1), ref(2))
		r.Do(q, ops.Exp, 4, f32(3), nil, ref(3))
		r.Do(q, ops.Add, 5, f32(3), nil, ref(1), ref(1))
		first := r.WantKind(q, 3, wire.BadArgument)
		if again := r.WantKind(q, 4, wire.BadArgument); again != first {
			r.Errorf("dependent value has %v, want %v", again, first)
		}
		var e *ops.Error
		if !errors.As(first, &e) || e.Op != "add" || strings.Join(e.Shapes, " ") != "f32{3} f32{2}" {
			r.Errorf("error %#v does not name the operation and its operands", first)
		}
		r.Want(q, 5, 2, 4, 6)
		r.WantKind(q, 6, wire.UnknownID)
		r.Do(q, ops.Add, 7, f32(3), nil, ref(1))
		r.WantKind(q, 7, wire.BadArgument)
		r.Do(q, ops.Sum, 8, f32(), [][]int{{1}, {0}}, ref(1))
		r.WantKind(q, 8, wire.BadArgument)
	})
}

func TestViewsShareMemory(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2, 3, 4)
		r.Do(q, ops.Reshape, 2, f32(2, 2), nil, ref(1))
		if n := q.Session.Bytes(); n != 16 {
			r.Errorf("a tensor and its view take %d bytes, want 16", n)
		}
		r.Free(q, 1)
		r.Do(q, ops.Transpose, 3, f32(2, 2), [][]int{{1, 0}}, ref(2))
		r.Want(q, 3, 1, 3, 2, 4)
		r.Want(q, 2, 1, 2, 3, 4)
	})
}

func TestDynamicSlice(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 0, 1, 2, 3, 4, 5)
		start := func(id ops.ID, v int) {
			s64 := ops.Type{DType: ops.S32}
			r.Do(q, ops.Tensor, id, s64, nil, ops.Operand{Lit: &ops.Literal{Type: s64, Data: []byte{byte(v), 0, 0, 0}}})
		}
		for i, c := range []struct {
			start int
			want  []float32
		}{{2, []float32{2, 3}}, {9, []float32{4, 5}}} {
			id := ops.ID(10 + 10*i)
			start(id, c.start)
			// An addition, so that the start is on the device.
			r.Do(q, ops.Add, id+1, ops.Type{DType: ops.S32}, nil, ref(id), ref(id))
			r.Do(q, ops.Quotient, id+2, ops.Type{DType: ops.S32}, nil, ref(id+1),
				ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{2, 0, 0, 0}}})
			r.Do(q, ops.Slice, id+3, f32(2), [][]int{{}, {2}, {1}}, ref(1), ref(id+2))
			r.Want(q, id+3, c.want...)
		}
	})
}

func TestImport(t *testing.T) {
	rigs(t, func(r *rig) {
		a, b := r.session(), r.session()
		imported := func(id, theirs ops.ID, key uint64) {
			in := wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: id, Type: f32(2)}}}}
			in.Shared = &wire.Shared{ID: theirs, Key: key,
				Owner: etf.Pid{Node: "test@host", ID: uint32(a.Session.Owner.ID), Creation: 7}}
			r.exec.Stream(b, []wire.Instr{in})
		}
		imported(1, 1, a.Session.Key) // before it is made
		r.Do(b, ops.Add, 2, f32(2), nil, ref(1), scalar(1))
		r.Tensor(a, 1, 1, 2)
		r.Want(b, 2, 2, 3)
		r.exec.End(a.Session)
		r.Want(b, 1, 1, 2)
		imported(3, 1, 12345)
		if err := r.WantKind(b, 3, wire.NotShared); !strings.Contains(err.Error(), "value 1 of process") {
			r.Errorf("error %q does not name the value", err)
		}
	})
}

func TestImportOfNothingEnds(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.session(), r.session()
	in := wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: 1, Type: f32(2)}}}}
	in.Shared = &wire.Shared{ID: 5, Key: a.Session.Key,
		Owner: etf.Pid{Node: "test@host", ID: uint32(a.Session.Owner.ID), Creation: 7}}
	r.exec.Stream(b, []wire.Instr{in})
	r.WantKind(b, 1, wire.UnknownID)
}

func TestLimit(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		q.Session.Limit = 100
		r.Tensor(q, 1, make([]float32, 20)...)
		r.Do(q, ops.Negate, 2, f32(20), nil, ref(1))
		r.WantKind(q, 2, wire.Limit)
		asked := 0
		r.exec.memory.Sweep = func() int { asked++; return 1 }
		r.Do(q, ops.Negate, 3, f32(20), nil, ref(1))
		if asked != 1 {
			r.Fatalf("sessions were asked %d times to sweep, want once", asked)
		}
		q.Session.Limit = 200 // as if values had been freed
		r.exec.Swept()
		r.Want(q, 3, make([]float32, 20)...)
	})
}

// An operand that is not held is named by its place and its id, with what to do;
// the others by their types.
func TestUnknownOperand(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2)
		r.Tensor(q, 2, 1, 2)
		r.Free(q, 2)
		for id, remedy := range map[ops.ID]string{77: "have one name it as its result first", 2: "free a value after what needs it"} {
			r.Do(q, ops.Select, 3, f32(2), nil, ref(1), ref(id), ref(1))
			err := r.WantKind(q, 3, wire.UnknownID)
			want := fmt.Sprintf("select(f32{2}, unknown value %d, f32{2}): operand 1: value %d is not held: ", id, id)
			if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), remedy) {
				r.Errorf("got  %s\nwant %s… %s", err, want, remedy)
			}
		}
	})
}

func TestDeviceOutOfMemory(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{MemoryLimit: 32 << 20, BlockSize: 4 << 20}))
	q := r.session()
	big := ops.Type{DType: ops.F32, Shape: ops.Shape{4 << 20}}
	r.Do(q, ops.Iota, 1, big, [][]int{{-1}})
	r.Do(q, ops.Negate, 2, big, nil, ref(1))
	r.Do(q, ops.Negate, 3, big, nil, ref(1))
	err := r.WantKind(q, 3, wire.OutOfMemory)
	if !strings.Contains(err.Error(), "holds") {
		r.Errorf("error %q does not say who holds the memory", err)
	}
	r.Free(q, 2)
	r.Do(q, ops.Negate, 4, big, nil, ref(1))
	done := false
	r.exec.Describe(q, 4, func(_ ops.Type, e error) { done, err = true, e })
	r.Until(func() bool { return done })
	if err != nil {
		r.Errorf("after a free: %v", err)
	}
}

// A value for which no buffer is large enough is no fault of the node.
func TestLargerThanBuffers(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	q := r.session()
	r.Do(q, ops.Iota, 1, ops.Type{DType: ops.U8, Shape: ops.Shape{1 << 40}}, [][]int{{-1}})
	err := r.WantKind(q, 1, wire.OutOfMemory)
	if !strings.Contains(err.Error(), "larger than the device allows") {
		r.Errorf("error %q", err)
	}
}

func TestDeviceLost(t *testing.T) {
	lost := false
	r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{Lost: func() bool { return lost }}}))
	q := r.session()
	r.Tensor(q, 1, 1, 2)
	r.Do(q, ops.Negate, 2, f32(2), nil, ref(1))
	r.Want(q, 2, -1, -2)
	lost = true
	r.Do(q, ops.Negate, 3, f32(2), nil, ref(2))
	r.WantKind(q, 3, wire.DeviceLost)
	r.Do(q, ops.Negate, 4, f32(2), nil, ref(2))
	r.WantKind(q, 4, wire.DeviceLost)
}

// A stream that outruns the device waits for it outside of the driver.
func TestDeviceThrottle(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	q := r.session()
	big, n := f32(1<<18), 2000
	r.Do(q, ops.Iota, 1, big, [][]int{{-1}})
	most := 0
	for id := ops.ID(2); id < ops.ID(2+n); id++ {
		r.Do(q, ops.Add, id, big, nil, ref(id-1), scalar(1))
		r.Free(q, id-1)
		most = max(most, r.exec.core.feeds.InFlight())
	}
	if most > feed.Deepest {
		r.Errorf("%d submissions in flight, want at most %d", most, feed.Deepest)
	}
	got, err := r.Read(q, ops.ID(1+n), 7, 1)
	if err != nil || got[0] != float32(7+n) {
		r.Errorf("got %v, %v, want %d", got, err, 7+n)
	}
}

// A session that ends in the middle leaves nothing behind.
func TestEnd(t *testing.T) {
	rigs(t, func(r *rig) {
		for range 20 {
			q := r.session()
			r.Tensor(q, 1, make([]float32, 1000)...)
			r.Do(q, ops.Exp, 2, f32(1000), nil, ref(1))
			r.exec.Read(q, 2, 0, math.MaxInt, func(d Data, _ error) {
				if d.Release != nil {
					d.Release()
				}
			})
			r.exec.End(q.Session)
		}
		r.Settle(50 * time.Millisecond)
		if r.Dev != nil {
			if used := r.Dev.Stats().InUse; used != 0 {
				r.Errorf("%d bytes are in use after all sessions ended", used)
			}
		}
	})
}

// The host path serves what the device cannot compute.
func TestFallback(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		s := f32()
		minus := &ops.Region{Body: []ops.Instr{op(ops.Subtract, res(3, s), ref(2), ref(1))}, Values: uses(3)}
		fun := &ops.Region{Params: []ops.Result{res(1, s), res(2, s)}, Values: uses(4),
			Body: []ops.Instr{{Op: ops.Branch, Ins: uses(1), Outs: []ops.Result{res(4, s)}, Attrs: [][]int{nil, nil},
				Regions: []*ops.Region{minus, {Values: uses(2)}}}}}
		r.Tensor(q, 1, 3, 4)
		r.Do(q, ops.Negate, 2, f32(2), nil, ref(1))
		r.exec.Stream(q, []wire.Instr{{Name: "reduce", Instr: ops.Instr{Op: ops.ReduceFun, Ins: append(uses(2), scalar(10)),
			Outs: []ops.Result{res(3, s)}, Attrs: [][]int{{0}, {0}, nil}, Regions: []*ops.Region{fun}}}})
		r.Do(q, ops.Negate, 4, s, nil, ref(3))
		r.Want(q, 4, -17)
		if r.Dev != nil && r.exec.Counters().Fallbacks == 0 {
			r.Error("no fallback was counted")
		}
	})
}

// Orders of magnitude between a literal and its type of computation.
func TestLiteralsConvert(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2)
		s32 := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{0xff, 0xff, 0xff, 0xff}}}
		r.Do(q, ops.Multiply, 2, f32(2), nil, ref(1), s32)
		r.Want(q, 2, -1, -2)
	})
}

// A program of many operations gives the same on the host and on the device.
func TestHostAndDeviceAgree(t *testing.T) {
	var results [][]float32
	rigs(t, func(r *rig) {
		q := r.session()
		n := 1000
		r.Do(q, ops.Iota, 1, f32(n), [][]int{{-1}})
		r.Do(q, ops.Divide, 2, f32(n), nil, ref(1), scalar(float32(n)))
		r.Do(q, ops.Multiply, 3, f32(n), nil, ref(2), ref(2))
		r.Do(q, ops.Reshape, 4, f32(10, 100), nil, ref(3))
		r.Do(q, ops.Sum, 5, f32(10), [][]int{{1}, {0}}, ref(4))
		r.Do(q, ops.ReduceMax, 6, f32(100), [][]int{{0}, {0}}, ref(4))
		r.Do(q, ops.Dot, 7, f32(10), [][]int{{1}, {}, {0}, {}}, ref(4), ref(6))
		got, err := r.Read(q, 7, 0, n)
		if err != nil {
			r.Fatal(err)
		}
		results = append(results, got)
	})
	for _, device := range results[1:] {
		for i, a := range results[0] {
			if b := device[i]; math.Abs(float64(a-b)) > 1e-5*math.Abs(float64(a)) {
				t.Errorf("element %d: host %v, device %v", i, a, b)
			}
		}
	}
}
