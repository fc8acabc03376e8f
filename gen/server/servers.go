package server

import (
	"sync"

	"ergo.services/ergo/gen"

	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/link"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Servers are the device servers that a node has started, by name. A server finds the others there, for values that
// sessions import from another device. The methods may be called from any goroutine.
type Servers struct {
	mu     sync.Mutex
	list   map[gen.Atom]*Device
	meshes *mesh.Meshes // of their sessions; made with the first server
	peers  *peers       // the meshes of other nodes; made with meshes
	links  *link.Links  // to other nodes; nil where this one reaches none
}

// NewServers returns an empty list, for the configurations of all device servers of a node. links reach other nodes; nil
// where this one reaches none.
func NewServers(links *link.Links) *Servers {
	return &Servers{list: make(map[gen.Atom]*Device), links: links}
}

// remote takes values of other nodes; nil where none is reached.
func (s *Servers) remote() exec.Remote {
	if s.links == nil {
		return nil
	}
	return func(v *wire.Shared, t ops.Type, offered func(exec.Source, error)) {
		s.links.Import(v, t, func(of *link.Value, err error) {
			if err != nil {
				offered(nil, err)
				return
			}
			offered(of, nil)
		})
	}
}

// meshesOn returns the meshes of sessions, whose collectives compute on a pool of processors.
func (s *Servers) meshesOn(work *sched.Pool) *mesh.Meshes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meshes == nil {
		if work == nil {
			work = sched.NewPool(0)
		}
		s.meshes = mesh.NewMeshes(work)
		if s.links != nil {
			s.peers = &peers{links: s.links, clients: make(map[string]*link.Client), talks: make(map[string]gen.Atom)}
			s.meshes.Reach(s.peers)
		}
	}
	return s.meshes
}

// add lists a server that starts.
func (s *Servers) add(d *Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[d.cfg.Name] = d
}

// find returns the latest server of a name, which may have ended; nil where there was none.
func (s *Servers) find(name string) exec.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.list[gen.Atom(name)]; ok {
		return d
	}
	return nil
}

// Ask implements exec.Server.
func (d *Device) Ask(f func(*exec.Executor), gone func()) {
	d.mailbox.Post(mailbox.Func{F: func() { f(d.exec) }, Gone: gone})
}

// ended is the error of values that others import from a server that ends.
func (d *Device) ended() error {
	return &wire.Fault{Kind: wire.ServerDown, Err: errEnded}
}
