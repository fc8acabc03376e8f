package exec

import (
	"strings"
	"testing"
	"time"

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
	meshes *mesh.Meshes
}

// fleets runs a test on meshes of hosts, of devices whose memory the host sees, of devices as most GPUs are, and
// of all of them.
func fleets(t *testing.T, test func(f *fleet)) {
	for _, kinds := range []string{"host host", "device device", "GPU GPU", "host host host host", "device device device device",
		"host GPU device host"} {
		t.Run(kinds, func(t *testing.T) { test(newFleet(t, strings.Fields(kinds)...)) })
	}
}

func newFleet(t *testing.T, kinds ...string) *fleet {
	t.Helper()
	f := &fleet{T: t}
	for _, kind := range kinds {
		var d *vulkan.Device
		if kind != "host" {
			d = device(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: kind == "GPU", Uncached: kind == "GPU"}})
		}
		r := newRig(t, d)
		if len(f.rigs) > 0 {
			r.Posted = f.rigs[0].Posted
		}
		f.rigs = append(f.rigs, r)
	}
	f.meshes = mesh.NewMeshes(f.rigs[0].exec.cfg.Work)
	for _, r := range f.rigs {
		r.exec.cfg.Meshes = f.meshes
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
		f.join(i, q, wire.Mesh{ID: id, Rank: i, Size: len(f.rigs)})
		f.qs = append(f.qs, q)
	}
}

func (f *fleet) join(i int, q *Queue, o wire.Mesh) {
	f.Helper()
	f.rigs[i].exec.JoinMesh(q, o, func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	})
}

// all lists the ranks.
func (f *fleet) all() []int { return ops.AllAxes(len(f.rigs)) }

// tensor uploads bytes to a rank.
func (f *fleet) tensor(rank int, id ops.ID, t ops.Type, data []byte) {
	f.rigs[rank].Do(f.qs[rank], ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: data}})
}

// idle waits until nothing is on its way.
func (f *fleet) idle() {
	f.Helper()
	f.rigs[0].Until(func() bool {
		busy := 0
		for _, r := range f.rigs {
			busy += len(r.exec.senders) + r.exec.Building()
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
