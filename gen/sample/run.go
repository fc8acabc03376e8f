package sample

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Sampler has an Executor draw from densities. Its methods are for the goroutine of
// the Executor, unless they say otherwise.
type Sampler struct{ e exec.Services }

// New returns the Sampler of an Executor.
func New(e *exec.Executor) *Sampler { return &Sampler{e.Services()} }

// Kinds of computations, as metrics show them.
const (
	workPlan     = "plan"
	workLeapfrog = "leapfrog" // steps that a client asks for
	workChain    = "chain"    // of the sampler, where the host evaluates the density
)

// runs are those of a session.
type runs struct {
	count  int // so far
	active map[int]*run
}

type runsKey struct{}

// runsOf are the runs of the session of a queue.
func runsOf(q *exec.Queue) *runs {
	return q.Above(runsKey{}, func() exec.Ender { return &runs{active: make(map[int]*run)} }).(*runs)
}

// End ends all runs; nobody is told.
func (all *runs) End() {
	for _, r := range all.active {
		r.cancel()
	}
	clear(all.active)
}

// run is a run of chains under way, or another computation that ends with its session; that
// has no reader.
type run struct {
	number   int
	reader   *reader
	progress []gauge            // of each chain
	planned  Progress           // of a chain that is done: the counts of its iterations
	stop     context.CancelFunc // chains end, and tell so
	cancel   context.CancelFunc // nobody is told any more
}

// Chunk is draws of one chain, in order, or the end of the chain, or a report.
type Chunk struct {
	Chain  int
	Warmup bool
	Draws  []*nuts.Draw // nil where the chain has ended
	End    *nuts.Chain  // that has ended
	Err    error        // why it ended, where that was too early
	Report []Progress   // of all chains, and nothing else
}

// Sample begins chains, after everything that the session asked for before.
// started tells the number of the run, or why there is none. Each chain is a
// goroutine of its own; emit runs on the goroutine of the Executor. It reports
// false where the connection takes no more, and is asked again; where the request
// gives credit, chunks also wait for that. A chain goes on when its chunk has been
// taken, so a run holds no more than a chunk of each chain. The run ends with the
// session.
func (s *Sampler) Sample(q *exec.Queue, r *wire.Sample, started func(run int, err error), emit func(run int, c Chunk) bool) {
	in := &wire.Instr{Name: "sample", Instr: ops.Instr{Op: ops.Run, Ins: r.Data}, Defines: wire.Defines{Key: r.Program}}
	s.e.DoWith(q, in, func(q *exec.Queue) (wait queue.Wait) {
		density, wait, err := s.density(q, in, &r.Density)
		if wait != 0 {
			return wait
		}
		if err != nil {
			started(0, err)
			return 0
		}
		give, wait, err := s.e.TakeHost(q, int64(r.Chains)*int64(r.Dim)*chainBytes)
		if wait != 0 {
			return wait
		}
		if err != nil {
			started(0, err)
			return 0
		}
		s.begin(q, r, density, give, started, emit)
		return 0
	})
}

// chainBytes is the memory of a chain for each of its parameters: f64 numbers of the metric, its estimate, the
// state, and the ends and subtrees of a trajectory. Deep trajectories take more for a while.
const chainBytes = 24 * 8

// newChains makes the chains of a sample and what takes their steps: a batcher on the device, or a host for each.
func (s *Sampler) newChains(r *wire.Sample, d *density) (chains []*nuts.Chain, hosts []*hosted, b *batcher, err error) {
	chains, hosts = make([]*nuts.Chain, r.Chains), make([]*hosted, r.Chains)
	integrator := func(i int) nuts.Integrator {
		hosts[i] = d.hosted()
		return hosts[i]
	}
	switch err := d.device(); {
	case err == nil && d.sampled(s.e):
		b = s.newBatcher(d, r.Chains)
		integrator = func(int) nuts.Integrator { return b }
	case err != nil && !errors.Is(err, synth.ErrUnsupported):
		return nil, nil, nil, err
	}
	for i := range chains {
		if chains[i], err = nuts.New(integrator(i), r.Dim, i, r.Chain(i)); err != nil {
			return nil, nil, nil, &wire.Fault{Kind: wire.BadArgument, Err: err}
		}
	}
	return chains, hosts, b, nil
}

// begin starts the chains. give is called when the last has ended.
func (s *Sampler) begin(q *exec.Queue, r *wire.Sample, d *density, give func(), started func(int, error), emit func(int, Chunk) bool) {
	chains, hosts, b, err := s.newChains(r, d)
	if err != nil {
		give()
		started(0, err)
		return
	}
	to := &reader{limited: r.Credit > 0, credit: r.Credit}
	session, run := beginRun(q, to)
	to.emit = func(k Chunk) bool { return emit(run.number, k) }
	ctx, stop := context.WithCancel(session)
	run.stop = stop
	started(run.number, nil)
	run.progress = make([]gauge, r.Chains)
	run.planned.Warmup.Done, run.planned.Draws.Done = r.Options.Warmup, r.Options.Draws
	if r.Report > 0 {
		go s.report(session, run, r.Report)
	}
	left := len(chains)
	var computing atomic.Int64
	computing.Store(int64(left))
	for i, c := range chains {
		end := sync.OnceFunc(func() {
			if b != nil {
				b.end()
			}
			if left--; left == 0 {
				runsOf(q).end(run)
			}
		})
		finish := func(err error) {
			if computing.Add(-1) == 0 {
				give()
			}
			last := Chunk{Chain: c.Number, End: c, Err: err}
			s.conclude(session, func() bool { return run.reader.emit(last) }, end)
		}
		h := hosts[i]
		if h == nil { // it waits for the device, and computes next to nothing itself
			go func() { finish(guard(func() error { return s.chain(ctx, c, r, run, nil) })) }()
			continue
		}
		s.e.Account(q).Start(workChain, func(w *sched.Worker) error {
			h.worker = w
			err := guard(func() error { return s.chain(ctx, c, r, run, w) })
			w.Rest(func() { finish(err) })
			return nil
		}, func(err error) {
			if err != nil { // the session has ended before it began
				finish(context.Canceled)
			}
		})
	}
}

// beginRun gives a run of a session its number, and the context that ends with the session.
func beginRun(q *exec.Queue, to *reader) (context.Context, *run) {
	all := runsOf(q)
	session, cancel := context.WithCancel(context.Background())
	all.count++
	r := &run{number: all.count, reader: to, stop: cancel, cancel: cancel}
	all.active[r.number] = r
	return session, r
}

// end notes that a run is over.
func (all *runs) end(r *run) {
	r.cancel()
	delete(all.active, r.number)
}

// chunkBytes bounds the positions of a chunk, whatever its draws.
const chunkBytes = 4 << 20

// chain runs a chain and gathers its draws in chunks. w is who computes, which rests while
// the reader is slow.
func (s *Sampler) chain(ctx context.Context, c *nuts.Chain, r *wire.Sample, run *run, w *sched.Worker) error {
	most := min(r.Chunk, max(1, chunkBytes/(8*r.Dim)))
	chunk := Chunk{Chain: c.Number}
	send := func() error {
		if len(chunk.Draws) == 0 {
			return nil
		}
		k := chunk
		chunk.Draws = nil
		var err error
		w.Rest(func() {
			err = s.deliver(ctx, func(taken chan<- bool) { run.reader.offer(offer{ctx, k, taken}) })
		})
		return err
	}
	err := c.Run(ctx, func(warmup bool, d *nuts.Draw) error {
		run.progress[c.Number].note(warmup, d)
		if warmup && !r.Warmup {
			return ctx.Err()
		}
		if warmup != chunk.Warmup {
			if err := send(); err != nil {
				return err
			}
			chunk.Warmup = warmup
		}
		if chunk.Draws = append(chunk.Draws, d); len(chunk.Draws) < most {
			return ctx.Err()
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}

// Stop ends a run of chains. It reports false where there is none.
func (s *Sampler) Stop(q *exec.Queue, number int) bool {
	r := runsOf(q).active[number]
	if r == nil {
		return false
	}
	r.stop()
	return true
}
