//go:build race

package adapt

import (
	"context"
	"time"

	"ergo.services/ergo/gen"
)

// OrderCron orders what Ergo leaves unordered. The race detector would report it in
// every test that lives until then: at each full minute Ergo's cron writes a field, with
// no synchronisation between one minute and the next, and at the first it reads one
// that starting the node wrote.
//
// A job pushed through cron's queue orders the first run and the start. The job is due
// at the start of the year 1, the time of a cron that has not run yet. So it is pushed
// at once, and not again before a New Year. To take cron's lock every second orders the
// minutes: start runs a function that does, until ctx is done.
func OrderCron(ctx context.Context, n gen.Node, start func(func())) error {
	cron := n.Cron()
	if cron == nil { // stopped by a signal
		return gen.ErrNodeTerminated
	}
	start(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				cron.RemoveJob("none")
			}
		}
	})
	return cron.AddJob(gen.CronJob{Name: "order", Spec: "0 0 1 1 *", Location: time.UTC, Action: noAction{}})
}

// noAction is a job that does nothing.
type noAction struct{}

func (noAction) Do(gen.Atom, gen.Node, time.Time) error { return nil }
func (noAction) Info() string                           { return "order" }
