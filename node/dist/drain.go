package dist

import (
	"context"

	"ergo.services/ergo/gen"
)

// drain is the process of a node that ends last. Ergo's node stops, by Close or by a
// signal from the system, by asking all processes to end and waiting until they have.
// Then nothing can be sent any more. But a process counts as ended before all who
// monitor it have been told. So this process, and the connections with it, outlive the
// others: it has peers told of every end first.
type drain struct {
	gen.Process
	node    *Node
	ending  bool
	seen    map[gen.PID]bool // processes that it has asked Ergo about
	waiting map[gen.PID]bool // the processes that have not ended
}

func (d *drain) ProcessInit(p gen.Process, _ ...any) error {
	d.Process = p
	d.seen = map[gen.PID]bool{p.PID(): true}
	d.waiting = make(map[gen.PID]bool)
	return nil
}

// ProcessRun handles what is in the mailbox: the node's request to end, and the
// ends of the others.
func (d *drain) ProcessRun() error {
	for {
		m := d.next()
		if m == nil {
			return nil
		}
		switch content := m.Message.(type) {
		case gen.MessageExitPID:
			d.ending = d.ending || m.From == d.Parent()
		case gen.MessageDownPID:
			delete(d.waiting, content.PID)
		}
		gen.ReleaseMailboxMessage(m)
		if d.ending && d.alone() {
			d.node.depart()
			return gen.TerminateReasonShutdown
		}
	}
}

// ProcessTerminate is called alone where the node is stopped by force.
func (d *drain) ProcessTerminate(error) { d.node.shut() }

// next takes a message out of the mailbox, nil where there is none.
func (d *drain) next() *gen.MailboxMessage {
	box := d.Mailbox()
	for _, queue := range []interface{ Pop() (any, bool) }{box.Urgent, box.System, box.Main} {
		if m, ok := queue.Pop(); ok {
			return m.(*gen.MailboxMessage)
		}
	}
	return nil
}

// alone says whether all other processes have ended, and watches those that have
// not.
func (d *drain) alone() bool {
	all, _ := d.Node().ProcessList()
	for _, pid := range all {
		if !d.seen[pid] {
			d.seen[pid] = true
			d.watch(pid)
		}
	}
	return len(d.waiting) == 0
}

// watch waits for the end of a process, unless it is over. Ergo would never report
// one that ended between its look for the process and its entry of the monitor;
// the look after that finds it out.
func (d *drain) watch(pid gen.PID) {
	if d.MonitorPID(pid) != nil {
		return
	}
	if _, err := d.Node().ProcessState(pid); err == nil {
		d.waiting[pid] = true
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
		case <-c.signals.Quiet():
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
