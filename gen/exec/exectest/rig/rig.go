// Package rig drives an executor on the goroutine of a test, as a device server would, for
// the tests of packages that stand on exec.
package rig

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/exec"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Rig drives an Executor.
type Rig struct {
	*testing.T
	Exec   *exec.Executor
	Dev    *vulkan.Device // nil is the host
	Posted chan func()
	queues []*exec.Queue
}

// Rigs runs a test on the host alone and on a device, where there is one. The
// device computes everything that it can, however small.
func Rigs(t *testing.T, test func(r *Rig)) {
	t.Run("host", func(t *testing.T) { test(New(t, nil)) })
	t.Run("device", func(t *testing.T) { test(New(t, Device(t, vulkan.Options{}))) })
	t.Run("addresses", func(t *testing.T) {
		d := Device(t, vulkan.Options{})
		if !d.Info().Features.BufferDeviceAddress {
			t.Skip("the device has no buffer addresses")
		}
		test(New(t, d, func(c *exec.Config) { c.Target.Addresses, c.Target.CPU = true, false }))
	})
}

// Device opens the first device under validation; any message fails the test.
func Device(t *testing.T, o vulkan.Options) *vulkan.Device {
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

// New returns a Rig for a device, or for the host where it is nil. change says what of its
// configuration is otherwise.
func New(t *testing.T, d *vulkan.Device, change ...func(*exec.Config)) *Rig {
	t.Helper()
	r := &Rig{T: t, Dev: d, Posted: make(chan func(), 1<<16)}
	known := synth.Target{}
	if d != nil {
		var err error
		if known, err = target.Probe(d); err != nil {
			t.Fatal(err)
		}
	}
	cfg := exec.Config{
		Device: d, Target: known, HostLimit: -1,
		Post: func(f func()) { r.Posted <- f },
		Log:  zerolog.New(os.Stderr).Level(zerolog.ErrorLevel),
	}
	for _, f := range change {
		f(&cfg)
	}
	r.Exec = exec.New(cfg)
	t.Cleanup(func() {
		for _, l := range r.queues {
			r.Exec.End(l.Session)
		}
		r.Built() // a device is not closed while its driver compiles
		r.Settle(20 * time.Millisecond)
	})
	return r
}

// Session begins a session of a fresh process.
func (r *Rig) Session() *exec.Queue {
	l := r.Exec.Queue(store.NewSession(gen.PID{Node: "test@host", ID: uint64(len(r.queues) + 1), Creation: 7}))
	r.queues = append(r.queues, l)
	return l
}

// Settle runs completions until none has come for d.
func (r *Rig) Settle(d time.Duration) {
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
func (r *Rig) Built() {
	r.Helper()
	r.Until(func() bool { return r.Exec.Building() == 0 })
}

// Until runs completions until done. What never is ends with the time that go test
// gives, and shows where all goroutines are.
func (r *Rig) Until(done func() bool) {
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

// Do carries out one instruction.
func (r *Rig) Do(l *exec.Queue, op ops.Op, id ops.ID, out ops.Type, attrs [][]int, ins ...ops.Operand) {
	in := wire.Instr{Name: op.String(), Instr: ops.Instr{Op: op, Ins: ins, Attrs: attrs}}
	if id != 0 {
		in.Outs = []ops.Result{{ID: id, Type: out}}
	}
	r.Exec.Stream(l, []wire.Instr{in})
}

// Tensor uploads numbers.
func (r *Rig) Tensor(l *exec.Queue, id ops.ID, v ...float32) {
	t := F32(len(v))
	r.Do(l, ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: Floats(v...)}})
}

func (r *Rig) Free(l *exec.Queue, id ops.ID) { r.Do(l, ops.Free, 0, ops.Type{}, [][]int{{int(id)}}) }

// Read waits for elements of a value.
func (r *Rig) Read(l *exec.Queue, id ops.ID, off, n int) (out []float32, err error) {
	r.Helper()
	done := false
	r.Exec.Read(l, id, off, n, func(d exec.Data, e error) {
		done, err = true, e
		for b := d.Bytes; len(b) > 0; b = b[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if d.Release != nil {
			d.Release()
		}
	})
	r.Until(func() bool { return done })
	return out, err
}

// Want checks the elements of a value.
func (r *Rig) Want(l *exec.Queue, id ops.ID, want ...float32) {
	r.Helper()
	got, err := r.Read(l, id, 0, math.MaxInt)
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
func (r *Rig) WantKind(l *exec.Queue, id ops.ID, kind wire.Kind) error {
	r.Helper()
	_, err := r.Read(l, id, 0, math.MaxInt)
	if err == nil {
		r.Fatalf("value %d: no error, want one of kind %s", id, kind)
	}
	if got := wire.KindOf(err); got != kind {
		r.Fatalf("value %d: error %q is of kind %s, want %s", id, err, got, kind)
	}
	return err
}

// Res is a result.
func Res(id ops.ID, t ops.Type) ops.Result { return ops.Result{ID: id, Type: t} }

// Uses are operands.
func Uses(ids ...ops.ID) (list []ops.Operand) {
	for _, id := range ids {
		list = append(list, Ref(id))
	}
	return list
}

// Op is an instruction without attributes.
func Op(o ops.Op, out ops.Result, ins ...ops.Operand) ops.Instr {
	return ops.Instr{Op: o, Outs: []ops.Result{out}, Ins: ins}
}

// Define defines a program.
func (r *Rig) Define(l *exec.Queue, key string, p *ops.Region) {
	r.Exec.Stream(l, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: key, Program: p}}})
	r.Until(func() bool { return l.Wait() == 0 })
}

// F64s are the elements of a tensor of f64.
func F64s(xs ...float64) (b []byte) {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// NormalSteps are positions, momenta, gradients and log densities of leapfrog steps of
// independent normal numbers.
func NormalSteps(q, p, metric []float64, eps float64, k int) (r [4][]byte) {
	q, p = slices.Clone(q), slices.Clone(p)
	for range k {
		sum := 0.0
		for i := range q {
			h := p[i] + float64(0.5*eps*-q[i])
			q[i] += float64(float64(eps*metric[i]) * h)
			p[i] = h + float64(0.5*eps*-q[i])
			sum += -0.5 * float64(q[i]*q[i])
			r[2] = append(r[2], F64s(-q[i])...)
		}
		r[0], r[1], r[3] = append(r[0], F64s(q...)...), append(r[1], F64s(p...)...), append(r[3], F64s(sum)...)
	}
	return r
}
