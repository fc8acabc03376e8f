// Package exectest works an Executor from ordinary code, one call after another,
// as a device server works it from messages. Benchmarks and tests use it.
package exectest

import (
	"errors"
	"os"
	"sync"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/target"
	"nxvk/gen/sample"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

var errPatience = errors.New("no answer from the executor")

// Driver is an Executor with one session. It is for one goroutine.
type Driver struct {
	// Patience is how long it waits for an answer while nothing comes; 0 is for ever, since a test that hangs ends at
	// the limit of go test, with the stacks of all goroutines.
	Patience time.Duration

	Device  *vulkan.Device // nil is the host
	Exec    *exec.Executor
	Sampler *sample.Sampler
	queue   *exec.Queue
	posted  chan func()
	next    ops.ID
}

// New drives a device, or the host where it is nil. hostLimit is that of
// exec.Config; below zero the device computes whatever it can.
func New(d *vulkan.Device, hostLimit int) (*Driver, error) {
	var known synth.Target
	if d != nil {
		var err error
		if known, err = target.Probe(d, nil); err != nil {
			return nil, err
		}
	}
	return NewFor(d, known, hostLimit), nil
}

// NewFor is New for a device whose target is known.
func NewFor(d *vulkan.Device, target synth.Target, hostLimit int) *Driver {
	return newFor(d, target, hostLimit, false)
}

// NewWarmUp is NewFor for a device in whose stead the host carries out what new kernels
// do at first (see exec.Config.WarmUp).
func NewWarmUp(d *vulkan.Device, target synth.Target, hostLimit int) *Driver {
	return newFor(d, target, hostLimit, true)
}

// processors is what all drivers of a process compute on. A pool keeps its threads, and the tests open thousands of
// drivers.
var processors = sync.OnceValue(func() *sched.Pool { return sched.NewPool(0) })

func newFor(d *vulkan.Device, target synth.Target, hostLimit int, warmUp bool) *Driver {
	dr := &Driver{Device: d, posted: make(chan func(), 1<<16)}
	dr.Exec = exec.New(exec.Config{
		Device: d, Target: target, HostLimit: hostLimit, WarmUp: warmUp,
		Work: processors(),
		Post: func(f func()) { dr.posted <- f },
		Log:  zerolog.New(os.Stderr).Level(zerolog.ErrorLevel),
	})
	dr.Sampler = sample.New(dr.Exec)
	dr.queue = dr.Exec.Queue(store.NewSession(gen.PID{Node: "exectest"}))
	return dr
}

// Beside is a Driver with another session of the Executor, which ends with the device.
func (d *Driver) Beside() *Driver {
	return &Driver{Device: d.Device, Exec: d.Exec, Sampler: d.Sampler, posted: d.posted,
		queue: d.Exec.Queue(store.NewSession(gen.PID{Node: "exectest", ID: 1}))}
}

// Close ends the session, when nothing is being made any more: drivers do not like
// a process that exits meanwhile. The device stays open.
func (d *Driver) Close() {
	d.Sync()
	d.Built()
	d.Exec.End(d.queue.Session)
	d.drain()
}

// Do carries out an operation and returns the id of its result.
func (d *Driver) Do(op ops.Op, out ops.Type, attrs [][]int, ins ...ops.Operand) ops.ID {
	d.next++
	d.Exec.Stream(d.queue, []wire.Instr{{Name: op.String(), Instr: ops.Instr{
		Op: op, Outs: []ops.Result{{ID: d.next, Type: out}}, Ins: ins, Attrs: attrs}}})
	d.drain()
	return d.next
}

// DoAll is Do for an operation of several results.
func (d *Driver) DoAll(op ops.Op, outs []ops.Type, attrs [][]int, ins ...ops.Operand) (ids []ops.ID) {
	in := ops.Instr{Op: op, Ins: ins, Attrs: attrs}
	for _, t := range outs {
		d.next++
		ids = append(ids, d.next)
		in.Outs = append(in.Outs, ops.Result{ID: d.next, Type: t})
	}
	d.Exec.Stream(d.queue, []wire.Instr{{Name: op.String(), Instr: in}})
	d.drain()
	return ids
}

// Define defines a program.
func (d *Driver) Define(key string, p *ops.Region) {
	d.Exec.Stream(d.queue, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program},
		Defines: wire.Defines{Key: key, Program: p}}})
}

// Run runs a program and returns the ids of its results.
func (d *Driver) Run(key string, outs []ops.Type, ins ...ops.Operand) (ids []ops.ID) {
	in := ops.Instr{Op: ops.Run, Ins: ins}
	for _, t := range outs {
		d.next++
		ids = append(ids, d.next)
		in.Outs = append(in.Outs, ops.Result{ID: d.next, Type: t})
	}
	d.Exec.Stream(d.queue, []wire.Instr{{Name: "run", Instr: in, Defines: wire.Defines{Key: key}}})
	d.drain()
	return ids
}

// Leapfrog waits for the rows of leapfrog steps.
func (d *Driver) Leapfrog(r *wire.Leapfrog) (rows sample.Rows, err error) {
	err = d.wait(func(done func(error)) {
		d.Sampler.Leapfrog(d.queue, r, func(got sample.Rows, err error) {
			rows = got
			done(err)
		})
	})
	return rows, err
}

// Sample waits for chains. Their draws go to emit, chunk by chunk; a chain that
// fails is the error.
func (d *Driver) Sample(s *wire.Sample, emit func(sample.Chunk)) error {
	left := s.Chains
	var failed error
	return d.wait(func(done func(error)) {
		d.Sampler.Sample(d.queue, s, func(_ int, err error) {
			if err != nil {
				done(err)
			}
		}, func(_ int, c sample.Chunk) bool {
			emit(c)
			if c.Draws == nil {
				failed = errors.Join(failed, c.Err)
				if left--; left == 0 {
					done(failed)
				}
			}
			return true
		})
	})
}

// Built waits until no plan or pipeline is being made.
func (d *Driver) Built() error {
	for d.Exec.Building() > 0 {
		select {
		case f := <-d.posted:
			f()
		case <-d.late():
			return errPatience
		}
	}
	return nil
}

// late tells when the driver has waited for long enough; nil is never.
func (d *Driver) late() <-chan time.Time {
	if d.Patience == 0 {
		return nil
	}
	return time.After(d.Patience)
}

// Until runs completions as they arrive until that time, or for as long as the one
// under way then takes.
func (d *Driver) Until(t time.Time) {
	late := time.NewTimer(time.Until(t))
	defer late.Stop()
	for {
		select {
		case <-late.C:
			return
		case f := <-d.posted:
			f()
		}
	}
}

// Upload makes a tensor of bytes.
func (d *Driver) Upload(t ops.Type, data []byte) ops.ID {
	return d.Do(ops.Tensor, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: data}})
}

// Free lets go of values.
func (d *Driver) Free(ids ...ops.ID) {
	list := make([]int, len(ids))
	for i, id := range ids {
		list[i] = int(id)
	}
	d.Exec.Stream(d.queue, []wire.Instr{{Instr: ops.Instr{Op: ops.Free, Attrs: [][]int{list}}}})
}

// Sync waits until everything has been computed.
func (d *Driver) Sync() error {
	return d.wait(func(done func(error)) { d.Exec.Sync(d.queue, done) })
}

// Err waits until a value is known to be recorded or to carry an error.
func (d *Driver) Err(id ops.ID) error {
	return d.wait(func(done func(error)) {
		d.Exec.Describe(d.queue, id, func(_ ops.Type, err error) { done(err) })
	})
}

// Read waits for the elements of a value.
func (d *Driver) Read(id ops.ID) (data []byte, err error) {
	err = d.wait(func(done func(error)) {
		d.Exec.Read(d.queue, id, 0, 1<<62, func(x exec.Data, err error) {
			data = append(data, x.Bytes...)
			if x.Release != nil {
				x.Release()
			}
			done(err)
		})
	})
	return data, err
}

// ReadSome waits for elements of a value.
func (d *Driver) ReadSome(id ops.ID, offset, count int) error {
	return d.wait(func(done func(error)) { d.Later(id, offset, count, done) })
}

// Later calls done when elements of a value have been read, while others have their
// turn.
func (d *Driver) Later(id ops.ID, offset, count int, done func(error)) {
	d.Exec.Read(d.queue, id, offset, count, func(x exec.Data, err error) {
		if x.Release != nil {
			x.Release()
		}
		done(err)
	})
}

// Post has a function run with the completions.
func (d *Driver) Post(f func()) { d.posted <- f }

// drain runs completions that have arrived.
func (d *Driver) drain() {
	for {
		select {
		case f := <-d.posted:
			f()
		default:
			return
		}
	}
}

// wait runs completions until the request that ask makes is done.
func (d *Driver) wait(ask func(done func(error))) error {
	result := make(chan error, 1)
	ask(func(err error) { result <- err })
	select {
	case err := <-result:
		return err
	default:
	}
	for {
		select {
		case err := <-result:
			return err
		case f := <-d.posted:
			f()
		case <-d.late():
			return errPatience
		}
	}
}
