package dist

import (
	"context"

	"ergo.services/ergo/gen"
)

// closer is the process of a node that ends last. Ergo's node stops, be it by
// Close or by a signal from the system, by asking all processes to end and
// waiting until they have; then nothing can be sent any more. But a process counts
// as ended before its watchers have all been told. So this one outlives the
// others, and the connections too: it has peers told of every end first.
type closer struct {
	gen.Process
	node    *Node
	ending  bool
	seen    map[gen.PID]bool // processes that it has asked Ergo about
	waiting map[gen.PID]bool // those of them that have not ended
}

func (c *closer) ProcessInit(p gen.Process, _ ...any) error {
	c.Process = p
	c.seen = map[gen.PID]bool{p.PID(): true}
	c.waiting = make(map[gen.PID]bool)
	return nil
}

// ProcessRun handles what is in the mailbox: the node's request to end, and the
// ends of the others.
func (c *closer) ProcessRun() error {
	for {
		m := c.next()
		if m == nil {
			return nil
		}
		switch content := m.Message.(type) {
		case gen.MessageExitPID:
			c.ending = c.ending || m.From == c.Parent()
		case gen.MessageDownPID:
			delete(c.waiting, content.PID)
		}
		gen.ReleaseMailboxMessage(m)
		if c.ending && c.alone() {
			c.node.depart()
			return gen.TerminateReasonShutdown
		}
	}
}

// ProcessTerminate is all that there is where the node is stopped by force.
func (c *closer) ProcessTerminate(error) { c.node.shut() }

// next takes a message out of the mailbox, nil where there is none.
func (c *closer) next() *gen.MailboxMessage {
	box := c.Mailbox()
	for _, queue := range []interface{ Pop() (any, bool) }{box.Urgent, box.System, box.Main} {
		if m, ok := queue.Pop(); ok {
			return m.(*gen.MailboxMessage)
		}
	}
	return nil
}

// alone says whether all other processes have ended, and watches those that have
// not.
func (c *closer) alone() bool {
	all, _ := c.Node().ProcessList()
	for _, pid := range all {
		if !c.seen[pid] {
			c.seen[pid] = true
			c.watch(pid)
		}
	}
	return len(c.waiting) == 0
}

// watch waits for the end of a process, unless it is over. Ergo would never report
// one that ended between its look for the process and its entry of the monitor;
// the look after that finds it out.
func (c *closer) watch(pid gen.PID) {
	if c.MonitorPID(pid) != nil {
		return
	}
	if _, err := c.Node().ProcessState(pid); err == nil {
		c.waiting[pid] = true
	}
}

// depart ends the connections of a node whose processes have ended: once peers
// have been told of that, what was sent to them goes out. Neither takes longer
// than lingerTime.
func (n *Node) depart() {
	n.shut()
	late, cancel := context.WithTimeout(context.Background(), n.linger)
	defer cancel()
	all := n.connections()
	for _, c := range all {
		select {
		case <-c.signals.quiet():
		case <-c.gone:
		case <-late.Done():
		}
	}
	for _, c := range all {
		c.finish(gen.TerminateReasonNormal)
	}
	for _, c := range all {
		<-c.gone
	}
}
