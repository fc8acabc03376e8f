// Package rig drives an executor on the goroutine of a test, as a device server would, for
// the tests of packages that stand on exec.
package rig

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

// Rig drives an Executor.
type Rig struct {
	*harness.Harness[*exec.Queue]
	Exec   *exec.Executor
	queues []*exec.Queue
}

// Rigs runs a test on the host alone and on a device, where there is one. The
// device computes everything that it can, however small.
func Rigs(t *testing.T, test func(r *Rig)) {
	t.Run("host", func(t *testing.T) { test(New(t, nil)) })
	t.Run("device", func(t *testing.T) { test(New(t, harness.Device(t, vulkan.Options{}))) })
	t.Run("addresses", func(t *testing.T) {
		d := harness.Device(t, vulkan.Options{})
		if !d.Info().Features.BufferDeviceAddress {
			t.Skip("the device has no buffer addresses")
		}
		test(New(t, d, func(c *exec.Config) { c.Target.Addresses, c.Target.CPU = true, false }))
	})
}

// New returns a Rig for a device, or for the host where it is nil. change says what of its
// configuration is otherwise.
func New(t *testing.T, d *vulkan.Device, change ...func(*exec.Config)) *Rig {
	t.Helper()
	r := &Rig{Harness: harness.New[*exec.Queue](t, d)}
	cfg := exec.Config{Device: d, Target: harness.Target(t, d), HostLimit: -1, Post: r.Post,
		Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}
	for _, f := range change {
		f(&cfg)
	}
	r.Exec = exec.New(cfg)
	r.Driver = harness.Driver[*exec.Queue]{
		Stream:   r.Exec.Stream,
		Defines:  func(q *exec.Queue) bool { return q.Wait() != 0 },
		Building: r.Exec.Building,
		Read: func(q *exec.Queue, id ops.ID, offset, count int, done func([]byte, func(), error)) {
			r.Exec.Read(q, id, offset, count, func(d exec.Data, err error) { done(d.Bytes, d.Release, err) })
		},
	}
	t.Cleanup(func() {
		for _, q := range r.queues {
			r.Exec.End(q.Session)
		}
		r.Built() // a device is not closed while its driver compiles
		r.Settle(20 * time.Millisecond)
	})
	return r
}

// Session begins a session of a fresh process.
func (r *Rig) Session() *exec.Queue {
	q := r.Exec.Queue(store.NewSession(gen.PID{Node: "test@host", ID: uint64(len(r.queues) + 1), Creation: 7}))
	r.queues = append(r.queues, q)
	return q
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
