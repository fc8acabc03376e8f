//go:build race

package dist

import (
	"time"

	"ergo.services/ergo/gen"
)

// settle orders what Ergo leaves unordered, for the race detector reports it in
// every test that lives until then: at each full minute its cron writes a field,
// with no synchronisation between one minute and the next, and at the first it
// reads one that starting the node wrote.
//
// A job pushed through cron's queue orders the first run and the start. It is due
// at the start of the year 1, where a cron that has not run yet believes it is: so
// it is pushed at once, and not again before a New Year, as cron does not order two
// runs of a job either. To take cron's lock every second orders the minutes.
func settle(n *Node) error {
	cron := n.Cron()
	if cron == nil { // stopped by a signal
		return ErrClosed
	}
	n.running.Go(func() {
		for {
			select {
			case <-n.stopped.Done():
				return
			case <-time.After(time.Second):
				cron.RemoveJob("none")
			}
		}
	})
	return cron.AddJob(gen.CronJob{Name: "settle", Spec: "0 0 1 1 *", Location: time.UTC, Action: settled{}})
}

// settled is a job that does nothing.
type settled struct{}

func (settled) Do(gen.Atom, gen.Node, time.Time) error { return nil }
func (settled) Info() string                           { return "settle" }
