// Package harness drives an executor on the goroutine of a test, as a device server would. It does
// not import package exec, so that the tests of that package use it, too; package rig makes one for
// the packages that stand on exec.
package harness

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Driver is what a Harness calls of an executor whose queues are of type Q.
type Driver[Q any] struct {
	Stream   func(Q, []wire.Instr)
	Read     func(q Q, id ops.ID, offset, count int, done func(data []byte, release func(), err error))
	Defines  func(Q) bool // a program is being made
	Building func() int   // plans and pipelines that are being made
}

// Harness drives an executor.
type Harness[Q any] struct {
	*testing.T
	Dev    *vulkan.Device // nil is the host
	Posted chan func()    // what the executor posts
	Driver Driver[Q]
}

// New returns a Harness, whose Driver is set when there is an executor.
func New[Q any](t *testing.T, d *vulkan.Device) *Harness[Q] {
	return &Harness[Q]{T: t, Dev: d, Posted: make(chan func(), 1<<16)}
}

// Post has a function run by Until or Settle.
func (r *Harness[Q]) Post(f func()) { r.Posted <- f }

// Open opens the first device, which is closed when the test ends. Where there is none the test
// is skipped.
func Open(t testing.TB, o vulkan.Options) *vulkan.Device {
	t.Helper()
	return open(t, "", o)
}

func open(t testing.TB, sel string, o vulkan.Options) *vulkan.Device {
	t.Helper()
	o.Watchdog = -1 // a busy machine is no lost device
	d, err := vulkan.Open(sel, o)
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// Device opens the first device under validation, unless NXVK_VALIDATION is 0; any message fails the test.
func Device(t testing.TB, o vulkan.Options) *vulkan.Device {
	t.Helper()
	return open(t, "", validated(t, o))
}

// DeviceInTurn is Device, but for the device: those of the machine take turns, of which this is turn i. A machine with one
// has it opened as often as there are turns.
func DeviceInTurn(t testing.TB, i int, o vulkan.Options) *vulkan.Device {
	t.Helper()
	all, err := vulkan.Devices()
	if err != nil || len(all) == 0 {
		t.Skipf("no device: %v", err)
	}
	return open(t, strconv.Itoa(i%len(all)), validated(t, o))
}

func validated(t testing.TB, o vulkan.Options) vulkan.Options {
	o.Validation = os.Getenv("NXVK_VALIDATION") != "0"
	o.OnMessage = func(severity, text string) { t.Errorf("validation: %s: %s", severity, text) }
	return o
}

// Target is what a device can do, nothing where there is none.
func Target(t testing.TB, d *vulkan.Device) (known synth.Target) {
	t.Helper()
	if d != nil {
		var err error
		if known, err = target.Probe(d, nil); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// Settle runs completions until none has come for d.
func (r *Harness[Q]) Settle(d time.Duration) {
	for {
		select {
		case f := <-r.Posted:
			f()
		case <-time.After(d):
			return
		}
	}
}

// Built runs completions until no plan or pipeline is being made.
func (r *Harness[Q]) Built() {
	r.Helper()
	r.Until(func() bool { return r.Driver.Building() == 0 })
}

// Until runs completions until done. What never is ends with the time that go test
// gives, and shows where all goroutines are.
func (r *Harness[Q]) Until(done func() bool) {
	r.Helper()
	for !done() {
		(<-r.Posted)()
	}
}

// F32 is a type.
func F32(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }

// Floats are the elements of a tensor of f32.
func Floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Scalar is a literal of f32.
func Scalar(v float32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: F32(), Data: Floats(v)}}
}

// Ref is an operand.
func Ref(id ops.ID) ops.Operand { return ops.Operand{ID: id} }

// Uses are operands.
func Uses(ids ...ops.ID) (list []ops.Operand) {
	for _, id := range ids {
		list = append(list, Ref(id))
	}
	return list
}

// Res is a result.
func Res(id ops.ID, t ops.Type) ops.Result { return ops.Result{ID: id, Type: t} }

// Op is an instruction without attributes.
func Op(o ops.Op, out ops.Result, ins ...ops.Operand) ops.Instr {
	return ops.Instr{Op: o, Outs: []ops.Result{out}, Ins: ins}
}

// Do carries out one instruction.
func (r *Harness[Q]) Do(q Q, op ops.Op, id ops.ID, out ops.Type, attrs [][]int, ins ...ops.Operand) {
	in := wire.Instr{Name: op.String(), Instr: ops.Instr{Op: op, Ins: ins, Attrs: attrs}}
	if id != 0 {
		in.Outs = []ops.Result{{ID: id, Type: out}}
	}
	r.Driver.Stream(q, []wire.Instr{in})
}

// Tensor uploads numbers.
func (r *Harness[Q]) Tensor(q Q, id ops.ID, v ...float32) {
	t := F32(len(v))
	r.Do(q, ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: Floats(v...)}})
}

// Free lets go of a value.
func (r *Harness[Q]) Free(q Q, id ops.ID) { r.Do(q, ops.Free, 0, ops.Type{}, [][]int{{int(id)}}) }

// Define defines a program.
func (r *Harness[Q]) Define(q Q, key string, p *ops.Region) {
	r.Driver.Stream(q, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: key, Program: p}}})
	r.Until(func() bool { return !r.Driver.Defines(q) })
}

// Read waits for elements of a value.
func (r *Harness[Q]) Read(q Q, id ops.ID, off, n int) (out []float32, err error) {
	r.Helper()
	done := false
	r.Driver.Read(q, id, off, n, func(data []byte, release func(), e error) {
		done, err = true, e
		for b := data; len(b) > 0; b = b[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if release != nil {
			release()
		}
	})
	r.Until(func() bool { return done })
	return out, err
}

// Want checks the elements of a value.
func (r *Harness[Q]) Want(q Q, id ops.ID, want ...float32) {
	r.Helper()
	got, err := r.Read(q, id, 0, math.MaxInt)
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

// WantKind checks that reading a value gives an error of a kind.
func (r *Harness[Q]) WantKind(q Q, id ops.ID, kind wire.Kind) error {
	r.Helper()
	_, err := r.Read(q, id, 0, math.MaxInt)
	if err == nil {
		r.Fatalf("value %d: no error, want one of kind %s", id, kind)
	}
	if got := wire.KindOf(err); got != kind {
		r.Fatalf("value %d: error %q is of kind %s, want %s", id, err, got, kind)
	}
	return err
}
