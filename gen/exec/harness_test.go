package exec

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/vulkan"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"
)

func init() { codegen.Verify = true }

// rig drives an executor on the goroutine of the test, as its server would.
type rig struct {
	*testing.T
	exec   *Executor
	dev    *vulkan.Device
	posted chan func()
	next   uint64
}

// rigs runs a test on the host alone and on a device, where there is one. The
// device computes everything that it can, however small.
func rigs(t *testing.T, test func(r *rig)) {
	t.Run("host", func(t *testing.T) { test(newRig(t, nil)) })
	t.Run("device", func(t *testing.T) { test(newRig(t, device(t, vulkan.Options{}))) })
	t.Run("addresses", func(t *testing.T) {
		r := newRig(t, device(t, vulkan.Options{}))
		if !r.dev.Info().Features.BufferDeviceAddress {
			t.Skip("the device has no buffer addresses")
		}
		r.exec.target.Addresses, r.exec.target.CPU = true, false
		test(r)
	})
}

// device opens the first device under validation; any message fails the test.
func device(t *testing.T, o vulkan.Options) *vulkan.Device {
	t.Helper()
	o.Validation = true
	o.OnMessage = func(severity, text string) { t.Errorf("validation: %s: %s", severity, text) }
	o.Watchdog = -1 // a busy machine is no lost device
	d, err := vulkan.Open("", o)
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newRig(t *testing.T, d *vulkan.Device) *rig {
	t.Helper()
	r := &rig{T: t, dev: d, posted: make(chan func(), 1<<16)}
	known := synth.Target{}
	if d != nil {
		var err error
		if known, err = target.Probe(d); err != nil {
			t.Fatal(err)
		}
	}
	r.exec = New(Config{
		Device: d, Target: known, HostLimit: -1,
		Post: func(f func()) { r.posted <- f },
		Log:  zerolog.New(os.Stderr).Level(zerolog.ErrorLevel),
	})
	r.exec.specializer.Enough = 2
	t.Cleanup(func() {
		for s := range r.exec.queues {
			r.exec.End(s)
		}
		r.built() // a device is not closed while its driver compiles
		r.settle(20 * time.Millisecond)
	})
	return r
}

// limitHost says up to how many elements work on host operands stays there.
func (r *rig) limitHost(elements int) {
	r.exec.limit, r.exec.specializer.HostLimit = elements, elements
}

// session begins a session of a fresh process.
func (r *rig) session() *Queue {
	r.next++
	return r.exec.Queue(store.NewSession(gen.PID{Node: "test@host", ID: r.next, Creation: 7}))
}

// settle runs completions until none has come for d.
func (r *rig) settle(d time.Duration) {
	for {
		select {
		case f := <-r.posted:
			f()
		case <-time.After(d):
			return
		}
	}
}

// built runs completions until no plan or pipeline is being made.
func (r *rig) built() {
	r.Helper()
	r.until(func() bool { return r.exec.Building() == 0 })
}

// until runs completions until done. What never is ends with the time that go test
// gives, and shows where all goroutines are.
func (r *rig) until(done func() bool) {
	r.Helper()
	for !done() {
		(<-r.posted)()
	}
}

func f32(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func scalar(v float32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: f32(), Data: floats(v)}}
}

func ref(id ops.ID) ops.Operand { return ops.Operand{ID: id} }

// do carries out one instruction.
func (r *rig) do(l *Queue, op ops.Op, id ops.ID, out ops.Type, attrs [][]int, ins ...ops.Operand) {
	in := wire.Instr{Name: op.String(), Instr: ops.Instr{Op: op, Ins: ins, Attrs: attrs}}
	if id != 0 {
		in.Outs = []ops.Result{{ID: id, Type: out}}
	}
	r.exec.Stream(l, []wire.Instr{in})
}

// tensor uploads numbers.
func (r *rig) tensor(l *Queue, id ops.ID, v ...float32) {
	t := f32(len(v))
	r.do(l, ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: floats(v...)}})
}

func (r *rig) free(l *Queue, id ops.ID) { r.do(l, ops.Free, 0, ops.Type{}, [][]int{{int(id)}}) }

// read waits for elements of a value.
func (r *rig) read(l *Queue, id ops.ID, off, n int) (out []float32, err error) {
	r.Helper()
	done := false
	r.exec.Read(l, id, off, n, func(d Data, e error) {
		done, err = true, e
		for b := d.Bytes; len(b) > 0; b = b[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if d.Release != nil {
			d.Release()
		}
	})
	r.until(func() bool { return done })
	return out, err
}

// want checks the elements of a value.
func (r *rig) want(l *Queue, id ops.ID, want ...float32) {
	r.Helper()
	got, err := r.read(l, id, 0, math.MaxInt)
	if err != nil {
		r.Fatalf("read %d: %v", id, err)
	}
	if len(got) != len(want) {
		r.Fatalf("value %d: got %v, want %v", id, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			r.Fatalf("value %d: got %v, want %v", id, got, want)
		}
	}
}

// wantKind checks that reading a value gives an error of a kind.
func (r *rig) wantKind(l *Queue, id ops.ID, kind wire.Kind) error {
	r.Helper()
	_, err := r.read(l, id, 0, math.MaxInt)
	if err == nil {
		r.Fatalf("value %d: no error, want one of kind %s", id, kind)
	}
	if got := wire.KindOf(err); got != kind {
		r.Fatalf("value %d: error %q is of kind %s, want %s", id, err, got, kind)
	}
	return err
}
