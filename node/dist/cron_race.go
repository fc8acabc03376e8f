//go:build race

package dist

import (
	"time"

	"ergo.services/ergo/gen"
)

// settle orders what Ergo leaves unordered: at the first full minute its cron
// reads a field that starting the node wrote, with no synchronisation between,
// which the race detector reports in every test that lives until then. A job
// pushed through cron's queue orders the two.
func settle(n gen.Node) error {
	return n.Cron().AddJob(gen.CronJob{Name: "settle", Spec: "* * * * *", Action: settled{}})
}

// settled is a job that runs once.
type settled struct{}

func (settled) Do(job gen.Atom, n gen.Node, _ time.Time) error { return n.Cron().RemoveJob(job) }
func (settled) Info() string                                   { return "settle" }
