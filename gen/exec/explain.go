package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/queue"
)

// Explain tells how a program of the session is carried out once it has been seen
// before, in the order in which it runs. Loops are told once. With measure the
// parts that the device carries out are measured.
func (e *Executor) Explain(l *Queue, key string, measure bool, done func([]explain.Part, error)) {
	e.Do(l, func(l *Queue) queue.Wait {
		p, err := e.Program(l, key)
		if err != nil {
			done(nil, err)
			return 0
		}
		prepared := explain.Prepare(p, explain.Rules{Device: e.dev != nil, Fuses: e.fuses(), Target: e.target, Eval: e.specializer.Evaluator(), Cost: e.feeds.Seconds})
		var x *explain.Explanation
		e.jobs.aside(l, workExplain, func(*sched.Worker) (err error) {
			x, err = prepared()
			return err
		}, func(err error) {
			switch {
			case err != nil:
				done(nil, err)
			case !measure || e.dev == nil:
				done(x.Parts, nil)
			default:
				explain.Profiler{Device: e.dev, Feeds: e.feeds, Kernels: e.kernels, Post: e.cfg.Post}.Measure(x, done)
			}
		})
		return 0
	})
}
