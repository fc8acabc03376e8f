package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// This file is what packages above have an Executor do for a session: the sampler
// (gen/sample), and the dispatch of shaders that clients bring (gen/chain).

// Definer takes what a stream says of code that the Executor does not know. Its methods run
// on the goroutine of the Executor.
type Definer interface {
	Define(l *Queue, in *wire.Instr)
	Forget(l *Queue, keys []string)
}

// SetDefiner says who takes the definitions of shaders. It comes before the first stream.
func (e *Executor) SetDefiner(d Definer) { e.definer = d }

// Post runs a function on the goroutine of the Executor.
func (e *Executor) Post(f func()) { e.cfg.Post(f) }

// Log is where the Executor logs.
func (e *Executor) Log() *zerolog.Logger { return &e.cfg.Log }

// Device returns the device, nil for the host alone.
func (e *Executor) Device() *vulkan.Device { return e.dev }

// Target returns what the device can do.
func (e *Executor) Target() synth.Target { return *e.target }

// HostLimit returns how many elements work of the host has at most.
func (e *Executor) HostLimit() int { return e.limit }

// Account returns whose processor time the work of a session counts as.
func (e *Executor) Account(l *Queue) *sched.Account { return l.account(e) }

// Common returns whose processor time the work for all sessions counts as.
func (e *Executor) Common() *sched.Account { return e.common }

// Ender is what a package above keeps for a session. It ends with the session.
type Ender interface{ End() }

// Above returns what the package of a key keeps for the session of a queue; the first time
// make says what that is.
func (l *Queue) Above(key any, make func() Ender) Ender {
	home := l.home()
	x := home.above[key]
	if x == nil {
		x = make()
		if home.above == nil {
			home.above = map[any]Ender{}
		}
		home.above[key] = x
	}
	return x
}

// Home returns the queue of the session, of which another one may run requests.
func (l *Queue) Home() *Queue { return l.home() }

// DoWith runs a task after everything that the session asked for before, with the operands
// of an instruction.
func (e *Executor) DoWith(l *Queue, in *wire.Instr, t func(l *Queue) queue.Wait) {
	e.enqueue(l, request{in: in, task: t})
}

// HostOperand is an operand whose elements are on the host.
type HostOperand struct {
	ops.Type
	Data []byte // valid until the task ends
}

// OnHost gives the operands of an instruction to f, those that are only on the device when they
// have been read back: the queue waits. f runs before OnHost returns.
func (e *Executor) OnHost(l *Queue, in *wire.Instr, check func([]ops.Type) error, f func([]HostOperand)) (wait queue.Wait, err error) {
	if l.failed != nil {
		return 0, l.failed
	}
	w, err := e.gather(l, in)
	if err != nil {
		return 0, err
	}
	defer w.Release()
	if err := check(w.Types); err != nil {
		return 0, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	for i, m := range w.Args {
		if m != nil && !m.Bring() {
			return e.readBack(l, m, w.Types[i])
		}
	}
	list := make([]HostOperand, len(w.Types))
	for i, t := range w.Types {
		list[i] = HostOperand{t, w.Data(i)[:t.Bytes()]}
	}
	f(list)
	return 0, nil
}

// WithKernel calls then when the pipeline of a kernel is made, at once where it is.
func (e *Executor) WithKernel(k *synth.Kernel, then func(*kernels.Kernel, error)) {
	c := e.kernels.Kernel(k)
	tell := func() {
		if c.Gone() { // while others were told
			e.WithKernel(k, then)
			return
		}
		then(c, c.Err())
	}
	if !c.Done() {
		c.Then(tell)
		return
	}
	tell()
}

// Foreign returns the pipeline of code that a client brought. It is kept until its Release.
func (e *Executor) Foreign(name string, code []uint32, layout vulkan.Layout) *kernels.Kernel {
	return e.kernels.Foreign(name, code, layout)
}

// Ready reports whether the pipeline of a kernel is made; the queue waits for it. Where it
// is, the error says why it could not be made.
func (e *Executor) Ready(l *Queue, k *kernels.Kernel) (wait queue.Wait, err error) {
	if !k.Done() {
		k.Then(func() { e.Resume(l) })
		return queue.ForKernel, nil
	}
	return 0, k.Err()
}

// Alloc takes memory of the device, and waits for what the device is about to leave.
func (f *Feed) Alloc(n int) (*vulkan.Buffer, error) { return f.exec.allocNow(f, n) }

// Zeroed takes memory of the device that is cleared.
func (f *Feed) Zeroed(n int) (*vulkan.Buffer, error) { return f.stream.Zeroed(n) }

// Copied takes memory of the device and copies bytes there.
func (f *Feed) Copied(x []byte) (*vulkan.Buffer, error) {
	b, err := f.Alloc(len(x))
	if err != nil {
		return nil, err
	}
	if err := f.stream.Upload(b, 0, x); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

// Upload copies bytes to memory of the device.
func (f *Feed) Upload(b *vulkan.Buffer, x []byte) error { return f.stream.Upload(b, 0, x) }

// DispatchStep records the step of a plan.
func (f *Feed) DispatchStep(c *kernels.Kernel, step *synth.Step, args []vulkan.Arg) error {
	return f.exec.dispatch(f, c, step, args, target.Push(step))
}

// Dispatch records workgroups of code that a client brought.
func (f *Feed) Dispatch(c *kernels.Kernel, args []vulkan.Arg, push []byte, groups uint32) error {
	f.exec.note(f)
	f.exec.Counters.Dispatches++
	return f.stream.Dispatch(c.Pipeline(), args, push, groups, 1, 1)
}

// ReadAll reads the beginnings of buffers back. What the device wrote is lent until
// release, not copied. With poll done may be called before ReadAll returns.
func (f *Feed) ReadAll(args []vulkan.Arg, sizes []int, poll bool, done func(parts [][]byte, release func(), err error)) {
	e := f.exec
	var backs []*vulkan.Readback
	release := func() {
		for _, b := range backs {
			b.Release()
		}
	}
	fail := func(err error) {
		release()
		done(nil, nil, e.DeviceError(err))
	}
	var parts [][]byte
	for i, a := range args {
		b, err := f.stream.Download(a.Buffer, 0, sizes[i])
		if err != nil {
			fail(err)
			return
		}
		backs, parts = append(backs, b), append(parts, b.Bytes())
	}
	ticket, sent, err := e.send(f)
	if err != nil {
		fail(err)
		return
	}
	finish := func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(parts, release, nil)
	}
	// With queues throttled, noting the end here could serve one that is being served.
	if poll && len(f.throttled) == 0 && e.soon(ticket) {
		finish(nil)
		if sent {
			e.completed(f, ticket)
		}
		return
	}
	if sent {
		e.watch(f, ticket)
	}
	e.dev.Notify(ticket, func(err error) { e.cfg.Post(func() { finish(err) }) })
}

// Enough is how often a program has to be seen to be compiled.
func (e *Executor) Enough() int { return e.specializer.Enough }

// Building counts the plans and pipelines that are being made apart from the
// goroutine of the Executor.
func (e *Executor) Building() int { return e.building + e.kernels.Busy() }
