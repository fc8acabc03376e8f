package exec

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// fleet is several executors of one node, as the servers of its devices, on the goroutine of the test. Each has
// a session, whose rank is its place in the list.
type fleet struct {
	*testing.T
	rigs   []*rig
	qs     []*Queue
	nodes  []string                // by rank; nil where all are of one
	meshes map[string]*mesh.Meshes // by node
	held   atomic.Bool             // the devices get nothing
}

// wires are the connections of a node with the others of its fleet: functions that the test runs in their order.
type wires struct {
	fleet *fleet
	self  string
}

func (w *wires) Cut(string)                              {}
func (w *wires) Self() string                            { return w.self }
func (w *wires) Meet(_ string, done func(error))         { w.fleet.rigs[0].Post(func() { done(nil) }) }
func (w *wires) Watch(string, func(error)) (stop func()) { return func() {} }
func (w *wires) Tell(node string, n mesh.Notice) {
	w.fleet.rigs[0].Post(func() { w.fleet.meshes[node].Notify(n) })
}

func (w *wires) Ask(node string, a mesh.Ask, done func(devcopy.Chunk, error)) {
	w.fleet.rigs[0].Post(func() {
		w.fleet.meshes[node].Serve(a, func(k devcopy.Chunk, err error) {
			if err == nil {
				sent := k.Release
				k = devcopy.Chunk{Bytes: bytes.Clone(k.Bytes), Own: true, Release: func() {}}
				sent()
			}
			w.fleet.rigs[0].Post(func() { done(k, err) })
		})
	})
}

// fleets runs a test on meshes of hosts, of devices whose memory the host sees, of devices as most GPUs are, and
// of all of them. The devices of the machine take turns.
func fleets(t *testing.T, test func(f *fleet)) {
	for _, kinds := range []string{"host host", "device device", "GPU GPU", "host host host host", "device device device device",
		"host GPU device host", "host | host", "host GPU | device | host"} {
		t.Run(kinds, func(t *testing.T) { test(newFleet(t, strings.Fields(kinds)...)) })
	}
}

func newFleet(t *testing.T, kinds ...string) *fleet {
	t.Helper()
	f := &fleet{T: t}
	f.meshes = make(map[string]*mesh.Meshes)
	node, devices := "a", 0
	for _, kind := range kinds {
		if kind == "|" { // what follows is on another node
			node = string(node[0] + 1)
			continue
		}
		f.nodes = append(f.nodes, node)
		var d *vulkan.Device
		if kind != "host" {
			fault := vulkan.Fault{Unmapped: kind == "GPU", Uncached: kind == "GPU", Hold: f.held.Load}
			if kind != "device" { // mapped is a GPU all of whose memory the host sees
				fault.CopyQueues = 2
			}
			d = harness.DeviceInTurn(t, devices, vulkan.Options{Fault: fault})
			devices++
		}
		r := newRig(t, d)
		if len(f.rigs) > 0 {
			r.Posted = f.rigs[0].Posted
		}
		f.rigs = append(f.rigs, r)
		if f.meshes[node] == nil {
			f.meshes[node] = mesh.NewMeshes(r.exec.core.cfg.Work)
			f.meshes[node].Reach(&wires{fleet: f, self: node})
		}
		r.exec.core.cfg.Meshes = f.meshes[node]
	}
	if node == "a" {
		f.nodes = nil
	}
	f.open("mesh")
	return f
}

// open begins a session on each device, of one mesh.
func (f *fleet) open(id string) {
	f.Helper()
	f.qs = nil
	for i, r := range f.rigs {
		q := r.session()
		f.join(i, q, wire.Mesh{ID: id, Rank: i, Size: len(f.rigs), Nodes: f.nodes})
		f.qs = append(f.qs, q)
	}
}

func (f *fleet) join(i int, q *Queue, o wire.Mesh) {
	f.Helper()
	joined := false
	f.rigs[i].exec.JoinMesh(q, o, func(err error) {
		if err != nil {
			f.Fatal(err)
		}
		joined = true
	})
	f.rigs[0].Until(func() bool { return joined })
}

// all lists the ranks.
func (f *fleet) all() []int { return ops.AllAxes(len(f.rigs)) }

// tensor uploads bytes to a rank.
func (f *fleet) tensor(rank int, id ops.ID, t ops.Type, data []byte) {
	f.rigs[rank].Do(f.qs[rank], ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: data}})
}

// carried says which operations a test has seen carried out in the way that it is about.
type carried map[ops.Op]int

// wantAll reports the operations that it has not seen.
func (c carried) wantAll(t *testing.T, way string) {
	t.Helper()
	for op := ops.AllReduce; op <= ops.CollectiveBroadcast; op++ {
		if c[op] == 0 {
			t.Errorf("no %v was carried out %s: %v", op, way, c)
		}
	}
}

// endEmpty ends the sessions once nothing is on its way: they have no values and no async runs.
func (f *fleet) endEmpty() {
	f.Helper()
	f.idle()
	for rank, q := range f.qs {
		if n := q.Session.Bytes(); n != 0 || len(q.asyncs) != 0 {
			f.Errorf("rank %d: %d bytes, %d async runs are left", rank, n, len(q.asyncs))
		}
		f.rigs[rank].exec.End(q.Session)
	}
}

// idle waits until nothing is on its way.
func (f *fleet) idle() {
	f.Helper()
	f.rigs[0].Until(func() bool {
		busy := 0
		for _, r := range f.rigs {
			busy += len(r.exec.sharing.senders) + r.exec.Building()
		}
		return busy == 0
	})
	f.rigs[0].Settle(10 * time.Millisecond)
}

func (f *fleet) used() (n uint64) {
	for _, r := range f.rigs {
		n += r.used()
	}
	return n
}
