package dispatch

import (
	"errors"

	"nxvk/gen/exec/checks"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/transfer"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Config is what a Dispatcher works with, for queues of type Q.
type Config[Q comparable] struct {
	Device    *vulkan.Device // nil is the host alone
	Kernels   *kernels.Cache
	Feeds     *feed.Feeds
	Memory    *memory.Manager[Q]
	Transfers *transfer.Transfers[Q]
	Jobs      *hostjob.Jobs[Q]
	Checker   *checks.Checker
	Turns     *queue.Turns[Q]
	Counts    *Counts

	Session func(Q) *store.Session
	Slot    func(Q) *Slot                             // has the recording of a queue
	Feed    func(Q) *feed.Feed                        // what the device does for its session
	Effort  func(Q, *kernels.Plan) *feed.Effort       // what a plan is part of for the device; nil for itself
	Note    func(Q) checks.Note                       // where the client has sent what the queue executes
	Last    func(q Q, in *wire.Instr, id ops.ID) bool // no other instruction of the run needs an operand
	Put     func(q Q, id ops.ID, v store.Value)       // gives a value its id
	Resume  func(Q)                                   // goes on with a queue that has waited
	Yield   func(Q)                                   // has a queue wait for its next turn
}

// Counts counts what a Dispatcher has done.
type Counts struct {
	Host        uint64 // instructions computed on the host
	Device      uint64 // plans recorded for the device
	InPlace     uint64 // operands that plans of Device updated where they were, without a copy
	Fallbacks   uint64 // instructions computed on the host because the device cannot
	Interpreted uint64 // dispatches that the host executed: in the device's stead, or of little work
	Uploaded    uint64 // bytes
}

// Dispatcher executes instructions and fusions. Its methods are for the goroutine of the Executor.
type Dispatcher[Q comparable] struct {
	// HostLimit is how many elements work on host operands touches at most to stay there.
	HostLimit int
	// Stead has the host compute in the device's stead where it is sooner done (MayStandIn).
	Stead bool

	cfg   Config[Q]
	push  []byte           // scratch of recordStep
	args  []vulkan.Arg     // scratch of recordStep
	outs  []*store.Storage // scratch of deviceResults
	temps []*store.Storage // scratch of deviceResults

	updated updated // scratch of updates
}

// New returns a Dispatcher.
func New[Q comparable](cfg Config[Q], hostLimit int, stead bool) *Dispatcher[Q] {
	return &Dispatcher[Q]{HostLimit: hostLimit, Stead: stead, cfg: cfg}
}

// Small reports whether an instruction is sooner done on the host.
func (dp *Dispatcher[Q]) Small(w *placement.Work) bool {
	return w.Small(dp.HostLimit) && (dp.cfg.Kernels.Target().CPU || !w.Long())
}

// Run executes an instruction where it belongs. The choice looks at the operation, the sizes and
// where the operands are, never at the clock. Where it returns a reason to wait, the queue calls it
// again for the same instruction.
func (dp *Dispatcher[Q]) Run(q Q, w *placement.Work) (wait queue.Wait, err error) {
	if w.In.Op == ops.Tensor {
		m, wait, err := dp.cfg.Transfers.Literal(q, w.In.Ins[0].Lit)
		if m != nil {
			defer m.Drop()
			dp.cfg.Counts.Uploaded += uint64(w.In.Outs[0].Type.Bytes())
			dp.give(q, w.In.Outs[0], m)
		}
		return wait, err
	}
	w.SettleLiterals()
	if dp.cfg.Slot(q).Busy() {
		return dp.continueRecording(q)
	}
	if m := w.Alias(); m != nil {
		dp.give(q, w.In.Outs[0], m)
		return 0, nil
	}
	if dp.cfg.Device == nil || dp.Small(w) {
		return dp.runOnHost(q, w)
	}
	if dp.rule(w) >= placement.Alone {
		return dp.standIn(q, w, nil)
	}
	if err := w.SettleStarts(); err != nil {
		return 0, err
	}
	if err := placement.CheckIndex(w); err != nil {
		return 0, err
	}
	p, err := dp.Plan(w)
	switch {
	case err == kernels.ErrBeingMade:
		p.Then(func() { dp.cfg.Resume(q) })
		return queue.ForPlan, nil
	case errors.Is(err, synth.ErrUnsupported):
		dp.cfg.Counts.Fallbacks++
		return dp.runOnHost(q, w)
	case err != nil:
		return 0, err
	case p.Alias >= 0:
		dp.give(q, w.In.Outs[0], w.Args[p.Alias])
		return 0, nil
	}
	if wait, err = dp.ByPlan(q, w, p); kernels.Refused(err) {
		dp.cfg.Counts.Fallbacks++
		return dp.runOnHost(q, w)
	}
	return wait, err
}

// ByPlan executes an instruction or a fusion by its plan, on the device or in its stead. Waiting is as
// in Run.
func (dp *Dispatcher[Q]) ByPlan(q Q, w *placement.Work, p *kernels.Plan) (wait queue.Wait, err error) {
	dp.cfg.Kernels.Refresh(p)
	if dp.cfg.Slot(q).Busy() {
		return dp.continueRecording(q)
	}
	exact := dp.rule(w) != placement.Never
	switch {
	case exact && (dp.cfg.Kernels.Unready(p) || dp.next(q, w, p) == kernels.ByHost):
		return dp.standIn(q, w, p)
	case dp.cfg.Kernels.Cold(p) || !exact && dp.next(q, w, p) == kernels.ByHost:
		return dp.interpret(q, w, p)
	}
	return dp.runOnDevice(q, w, p)
}

// ready reports whether the device can run all kernels of a plan at once; the queue waits for
// the first that is not.
func (dp *Dispatcher[Q]) ready(q Q, p *kernels.Plan) (wait queue.Wait, err error) {
	k, err := dp.cfg.Kernels.Ready(p)
	if k != nil {
		k.WhenReady(func() { dp.cfg.Resume(q) })
		return queue.ForKernel, nil
	}
	return 0, err
}

// Plan returns the plan of an instruction, or an error: kernels.ErrBeingMade while another goroutine
// makes the plan.
func (dp *Dispatcher[Q]) Plan(w *placement.Work) (*kernels.Plan, error) {
	p, made, err := dp.cfg.Kernels.Plan(w.Instr())
	if made {
		dp.cfg.Turns.Charge(queue.Look) // it takes as long as many instructions
	}
	return p, err
}

// give gives a result its id. The memory is charged to the session.
func (dp *Dispatcher[Q]) give(q Q, r ops.Result, m *store.Storage) {
	if m.Owner == nil && m.Size == 0 {
		dp.cfg.Session(q).Charge(m, int64(r.Type.Bytes()))
	}
	m.Retain()
	dp.cfg.Put(q, r.ID, store.Value{Type: r.Type, Mem: m})
}
