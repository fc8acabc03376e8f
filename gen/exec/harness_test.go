package exec

import (
	"os"
	"testing"
	"time"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/vulkan"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"
)

func init() { codegen.Verify = true }

// What tests are written with.
var (
	f32, floats, scalar = harness.F32, harness.Floats, harness.Scalar
	ref, uses, res, op  = harness.Ref, harness.Uses, harness.Res, harness.Op
	device              = harness.Device
)

// rig drives an executor on the goroutine of the test, as its server would.
type rig struct {
	*harness.Harness[*Queue]
	exec *Executor
	next uint64
}

// rigs runs a test on the host alone and on a device, where there is one. The
// device computes everything that it can, however small.
func rigs(t *testing.T, test func(r *rig)) {
	t.Run("host", func(t *testing.T) { test(newRig(t, nil)) })
	t.Run("device", func(t *testing.T) { test(newRig(t, device(t, vulkan.Options{}))) })
	t.Run("addresses", func(t *testing.T) {
		r := newRig(t, device(t, vulkan.Options{}))
		if !r.Dev.Info().Features.BufferDeviceAddress {
			t.Skip("the device has no buffer addresses")
		}
		r.exec.core.target.Addresses, r.exec.core.target.CPU = true, false
		test(r)
	})
}

func newRig(t *testing.T, d *vulkan.Device) *rig {
	t.Helper()
	r := &rig{Harness: harness.New[*Queue](t, d)}
	r.drive(New(Config{Device: d, Target: harness.Target(t, d), HostLimit: -1, Post: r.Post,
		Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}))
	r.exec.specializer.Enough = 2
	t.Cleanup(func() {
		for s := range r.exec.queues.bySession {
			r.exec.End(s)
		}
		r.Built() // a device is not closed while its driver compiles
		r.Settle(20 * time.Millisecond)
	})
	return r
}

// drive makes an Executor the one that the rig drives.
func (r *rig) drive(e *Executor) {
	r.exec = e
	r.Driver = harness.Driver[*Queue]{
		Stream:   e.Stream,
		Defines:  func(q *Queue) bool { return q.defining != nil },
		Building: e.Building,
		Read: func(q *Queue, id ops.ID, offset, count int, done func([]byte, func(), error)) {
			e.Read(q, id, offset, count, func(d Data, err error) { done(d.Bytes, d.Release, err) })
		},
	}
}

// limitHost says up to how many elements work on host operands stays there.
func (r *rig) limitHost(elements int) {
	r.exec.dispatcher.HostLimit, r.exec.specializer.HostLimit = elements, elements
}

// session begins a session of a fresh process.
func (r *rig) session() *Queue {
	r.next++
	return r.exec.Queue(store.NewSession(gen.PID{Node: "test@host", ID: r.next, Creation: 7}))
}
