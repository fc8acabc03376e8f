package exec

import (
	"context"
	"errors"
	"sync"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Sampler is a run of chains under way, or of another computation that ends with its
// session; that has no reader.
type Sampler struct {
	Number   int
	reader   *reader
	progress []gauge            // of each chain
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
func (e *Executor) Sample(l *Lane, s *wire.Sample, started func(run int, err error), emit func(run int, c Chunk) bool) {
	in := &wire.Instr{Name: "sample", Instr: ops.Instr{Op: ops.Run, Ins: s.Data}, Defines: wire.Defines{Key: s.Program}}
	e.enqueue(l, request{in: in, task: func(l *Lane) (wait queue.Wait) {
		density, wait, err := e.density(l, in, &s.Density)
		if wait != 0 {
			return wait
		}
		if err != nil {
			started(0, err)
			return 0
		}
		e.begin(l, s, density, started, emit)
		return 0
	}})
}

// begin starts the chains.
func (e *Executor) begin(l *Lane, s *wire.Sample, d *density, started func(int, error), emit func(int, Chunk) bool) {
	chains, hosts := make([]*nuts.Chain, s.Chains), make([]*hosted, s.Chains)
	var leaper *leaper
	integrator := func(i int) nuts.Integrator {
		hosts[i] = d.hosted()
		return hosts[i]
	}
	switch err := d.device(); {
	case err == nil && d.sampled(e):
		leaper = e.newLeaper(d, s.Chains)
		integrator = func(int) nuts.Integrator { return leaper }
	case err != nil && !errors.Is(err, synth.ErrUnsupported):
		started(0, err)
		return
	}
	for i := range chains {
		var err error
		if chains[i], err = nuts.New(integrator(i), s.Dim, i, s.Chain(i)); err != nil {
			started(0, &wire.Fault{Kind: wire.BadArgument, Err: err})
			return
		}
	}
	home := l.home()
	reader := &reader{limited: s.Credit > 0, credit: s.Credit}
	session, run := e.beginRun(home, reader)
	reader.emit = func(k Chunk) bool { return emit(run.Number, k) }
	ctx, stop := context.WithCancel(session)
	run.stop = stop
	started(run.Number, nil)
	run.progress = make([]gauge, s.Chains)
	if s.Report > 0 {
		go e.report(session, run, s.Report)
	}
	left := len(chains)
	for i, c := range chains {
		end := sync.OnceFunc(func() {
			if leaper != nil {
				leaper.ended()
			}
			if left--; left == 0 {
				e.endRun(home, run)
			}
		})
		finish := func(err error) {
			last := Chunk{Chain: c.Number, End: c, Err: err}
			e.conclude(session, func() bool { return run.reader.emit(last) }, end)
		}
		h := hosts[i]
		if h == nil { // it waits for the device, and computes next to nothing itself
			go func() { finish(guarded(func() error { return e.chain(ctx, c, s, run, nil) })) }()
			continue
		}
		l.account(e).Start(workChain, func(w *sched.Worker) error {
			h.worker = w
			err := guarded(func() error { return e.chain(ctx, c, s, run, w) })
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
func (e *Executor) beginRun(home *Lane, r *reader) (context.Context, *Sampler) {
	session, cancel := context.WithCancel(context.Background())
	home.samplers++
	run := &Sampler{Number: home.samplers, reader: r, stop: cancel, cancel: cancel}
	if home.sampling == nil {
		home.sampling = make(map[int]*Sampler)
	}
	home.sampling[run.Number] = run
	return session, run
}

func (e *Executor) endRun(home *Lane, run *Sampler) {
	run.cancel()
	delete(home.sampling, run.Number)
}

// chunkBytes bounds the positions of a chunk, whatever its draws.
const chunkBytes = 4 << 20

// chain runs a chain and gathers its draws in chunks. w is who computes, which rests while
// the reader is slow.
func (e *Executor) chain(ctx context.Context, c *nuts.Chain, s *wire.Sample, run *Sampler, w *sched.Worker) error {
	most := min(s.Chunk, max(1, chunkBytes/(8*s.Dim)))
	chunk := Chunk{Chain: c.Number}
	send := func() error {
		if len(chunk.Draws) == 0 {
			return nil
		}
		k := chunk
		chunk.Draws = nil
		var err error
		w.Rest(func() {
			err = e.deliver(ctx, func(taken chan<- bool) { run.reader.offer(offer{ctx, k, taken}) })
		})
		return err
	}
	err := c.Run(ctx, func(warmup bool, d *nuts.Draw) error {
		run.progress[c.Number].note(warmup, d)
		if warmup && !s.Warmup {
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
func (e *Executor) Stop(l *Lane, run int) bool {
	s := l.sampling[run]
	if s == nil {
		return false
	}
	s.stop()
	return true
}
