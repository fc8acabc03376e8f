package signals

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

func ref(n uint64) etf.Ref { return etf.Ref{Len: 1, Words: [etf.RefWords]uint32{uint32(n)}} }

func pid(n int) gen.PID { return gen.PID{Node: "ours@h", ID: uint64(n)} }

// model is a table in few words.
type model struct {
	incoming map[etf.Ref]any
	outgoing map[Outgoing]bool
	links    map[Link]bool
	reported map[any]bool
}

// TestTable compares random changes with a model: who is told of an end, when Ergo has
// to be asked for it, and what is left.
func TestTable(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(13, seed))
		table := NewTable()
		m := model{map[etf.Ref]any{}, map[Outgoing]bool{}, map[Link]bool{}, map[any]bool{}}
		for step := range 2000 {
			got, want := m.change(table, r, step)
			if got != want {
				t.Fatalf("seed %d, step %d: got %s, want %s", seed, step, got, want)
			}
			if s := table.Stats(); s.Incoming != len(m.incoming) || s.Outgoing != len(m.outgoing) || s.Links != len(m.links) {
				t.Fatalf("seed %d, step %d: %+v, want %d, %d and %d", seed, step, s, len(m.incoming), len(m.outgoing), len(m.links))
			}
		}
		monitors, links, incoming := table.Clear()
		if len(monitors) != len(m.outgoing) || !maps.Equal(links, m.links) || incoming != len(m.incoming) {
			t.Errorf("seed %d: %d, %d and %d are left, want %d, %d and %d", seed, len(monitors), len(links), incoming, len(m.outgoing), len(m.links), len(m.incoming))
		}
		if len(table.byTarget)+len(table.byOwner)+len(table.refs)+len(table.reported) > 0 {
			t.Errorf("seed %d: the table is not empty", seed)
		}
	}
}

// change makes a random change to both, and returns what the table says of it and what it
// should say.
func (m *model) change(table *Table, r *rand.Rand, step int) (got, want string) {
	target := pid(r.IntN(5))
	remote := gen.PID{Node: "peer@h", ID: uint64(r.IntN(5))}
	switch r.IntN(8) {
	case 0, 1:
		id := ref(uint64(1000 + step))
		got = fmt.Sprint(table.AddIncoming(id, Incoming{Target: target}, true))
		want = fmt.Sprint(!m.reported[target])
		m.incoming[id], m.reported[target] = target, true
	case 2:
		id := ref(uint64(1000 + r.IntN(step+1)))
		_, known := m.incoming[id]
		got, want = fmt.Sprint(table.RemoveIncoming(id)), fmt.Sprint(known)
		delete(m.incoming, id)
	case 3:
		o := Outgoing{Owner: target, Target: remote, Ergo: r.IntN(2) == 0}
		_, added, report := table.AddOutgoing(o, ref)
		got, want = fmt.Sprint(added, report), fmt.Sprint(!m.outgoing[o], !m.outgoing[o] && !m.reported[target])
		m.outgoing[o], m.reported[target] = true, true
	case 4:
		o := Outgoing{Owner: target, Target: remote, Ergo: r.IntN(2) == 0}
		_, found := table.RemoveOutgoing(o)
		got, want = fmt.Sprint(found), fmt.Sprint(m.outgoing[o])
		delete(m.outgoing, o)
	case 5:
		l := Link{Local: target, Remote: remote}
		ergo := r.IntN(2) == 0
		_, exists := m.links[l]
		added, report := table.AddLink(l, ergo)
		got, want = fmt.Sprint(added, report), fmt.Sprint(!exists, !m.reported[target])
		m.links[l], m.reported[target] = m.links[l] || ergo, true
	case 6:
		l := Link{Local: target, Remote: remote}
		known, exists := m.links[l]
		ergo, found := table.RemoveLink(l)
		got, want = fmt.Sprint(ergo, found), fmt.Sprint(known, exists)
		delete(m.links, l)
	case 7:
		got, want = m.end(table, target)
	}
	return got, want
}

// end has a process end in both, and says how many are told.
func (m *model) end(table *Table, target gen.PID) (got, want string) {
	told := len(table.TargetEnded(target))
	linked, monitors := table.OwnerEnded(target)
	table.Told()
	got = fmt.Sprint(told, len(linked), len(monitors))
	before := [3]int{len(m.incoming), len(m.links), len(m.outgoing)}
	maps.DeleteFunc(m.incoming, func(_ etf.Ref, on any) bool { return on == any(target) })
	maps.DeleteFunc(m.links, func(l Link, _ bool) bool { return l.Local == target })
	maps.DeleteFunc(m.outgoing, func(o Outgoing, _ bool) bool { return o.Owner == target })
	delete(m.reported, target)
	return got, fmt.Sprint(before[0]-len(m.incoming), before[1]-len(m.links), before[2]-len(m.outgoing))
}

// TestQuiet is closed when all ends have been told, not before.
func TestQuiet(t *testing.T) {
	table := NewTable()
	<-table.Quiet()
	table.AddIncoming(ref(1), Incoming{Target: pid(1)}, true)
	table.AddIncoming(ref(2), Incoming{Target: pid(2)}, true)
	table.AddIncoming(ref(3), Incoming{Target: pid(3)}, false)
	quiet := table.Quiet()
	isQuiet := func() bool {
		select {
		case <-quiet:
			return true
		default:
			return false
		}
	}
	table.TargetEnded(pid(1))
	table.Unreported(pid(2))
	if isQuiet() {
		t.Error("it is quiet while an end is being told")
	}
	if !table.Stats().Awaited {
		t.Error("nobody waits")
	}
	table.Told()
	<-quiet
}
