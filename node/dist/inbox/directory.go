package inbox

import (
	"maps"
	"sync"
	"sync/atomic"

	"ergo.services/ergo/gen"
)

// Inbox takes messages from the goroutines that read connections.
type Inbox interface {
	// Put takes a message. It never waits. run says that the caller has to call
	// Run, because nobody else handles what is in the inbox.
	Put(message any) (run bool)
	// Run handles messages until there are none. It may take its time.
	Run()
}

// Directory is which processes have an Inbox. Any goroutine may call its methods;
// looking up takes no lock. The zero value is empty.
type Directory struct {
	mu      sync.Mutex // guards replacing entries
	entries atomic.Pointer[entries]
}

// entries are replaced, never changed.
type entries struct {
	pids  map[gen.PID]Inbox
	names map[gen.Atom]Inbox
}

// Add enters the inbox of a process. remove takes it out again, unless the name has
// another one by then.
func (d *Directory) Add(pid gen.PID, name gen.Atom, in Inbox) (remove func()) {
	d.replace(func(e *entries) { e.pids[pid], e.names[name] = in, in })
	return func() {
		d.replace(func(e *entries) {
			delete(e.pids, pid)
			if e.names[name] == in {
				delete(e.names, name)
			}
		})
	}
}

func (d *Directory) replace(change func(*entries)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := &entries{pids: make(map[gen.PID]Inbox), names: make(map[gen.Atom]Inbox)}
	if old := d.entries.Load(); old != nil {
		maps.Copy(e.pids, old.pids)
		maps.Copy(e.names, old.names)
	}
	change(e)
	d.entries.Store(e)
}

// ByPID returns the inbox of a process, or nil.
func (d *Directory) ByPID(pid gen.PID) Inbox {
	if e := d.entries.Load(); e != nil {
		return e.pids[pid]
	}
	return nil
}

// ByName returns the inbox of a name, or nil.
func (d *Directory) ByName(name gen.Atom) Inbox {
	if e := d.entries.Load(); e != nil {
		return e.names[name]
	}
	return nil
}
