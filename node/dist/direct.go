package dist

import (
	"maps"

	"ergo.services/ergo/gen"
)

// Inbox takes messages from the goroutines that read connections.
type Inbox interface {
	// Put takes a message, which has the forms of message.go. It never waits.
	// Handled is to be called once the message has been handled.
	// It reports whether the caller has to call Run, because nobody else
	// handles what is in the inbox.
	Put(message any) (run bool)
	// Run handles messages until there are none. It may take its time.
	Run()
}

// directory is who has an Inbox. It is replaced, never changed.
type directory struct {
	pids  map[gen.PID]Inbox
	names map[gen.Atom]Inbox
}

// Direct has messages of peers to a process of this node, by its pid or its
// name, put into an Inbox instead of the process's mailbox. Where the inbox is
// idle, the goroutine that has read the message from the socket handles it:
// to wake another one takes longer than most messages do. The connection is
// read on meanwhile if that takes long.
//
// The process stays what peers link to and monitor. stop undoes it; the inbox
// may be in use a moment longer.
func (n *Node) Direct(pid gen.PID, name gen.Atom, in Inbox) (stop func()) {
	n.redirect(func(d *directory) {
		d.pids[pid], d.names[name] = in, in
	})
	return func() {
		n.redirect(func(d *directory) {
			delete(d.pids, pid)
			if d.names[name] == in {
				delete(d.names, name)
			}
		})
	}
}

func (n *Node) redirect(change func(*directory)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := &directory{pids: make(map[gen.PID]Inbox), names: make(map[gen.Atom]Inbox)}
	if old := n.direct.Load(); old != nil {
		maps.Copy(d.pids, old.pids)
		maps.Copy(d.names, old.names)
	}
	change(d)
	n.direct.Store(d)
}

// inboxOf returns the inbox of a process, or nil.
func (n *Node) inboxOf(pid gen.PID) Inbox {
	if d := n.direct.Load(); d != nil {
		return d.pids[pid]
	}
	return nil
}

// inboxNamed returns the inbox of a name, or nil.
func (n *Node) inboxNamed(name gen.Atom) Inbox {
	if d := n.direct.Load(); d != nil {
		return d.names[name]
	}
	return nil
}
