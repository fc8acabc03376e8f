package mesh

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/mesh/schedule"
	"nxvk/gen/exec/target"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Sides are the devices of a measurement, as the servers of a node have them.
type Sides []*Side

// Side is the executor of a device with one session. Whoever has something for it does that, as in a server.
type Side struct {
	Name  string
	dev   *vulkan.Device // nil is the host
	exec  *exec.Executor
	queue *exec.Queue
	all   *Sides
	next  ops.ID

	mailbox mailbox.Mailbox
}

// Open opens devices by index, name or UUID, or host. The same one may be opened more than once.
func Open(names []string, copyQueues [][2]int, options *schedule.Options) (Sides, error) {
	host, work := memory.NewHost(0), sched.NewPool(0)
	meshes := mesh.NewMeshes(work)
	if options != nil {
		meshes.Options = func(op ops.Op, ranks, bytes int, alike bool) schedule.Options {
			if o := schedule.Best(op, ranks, bytes, alike); op != ops.AllReduce || !alike || options.Way == schedule.Swapped && ranks != 2 {
				return o
			}
			return *options
		}
	}
	all := new(Sides)
	for i, name := range names {
		s, err := open(i, name, vulkan.Options{CopyQueues: copyQueues}, exec.Config{HostLimit: -1, Host: host, Work: work, Meshes: meshes,
			Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}, all)
		if err != nil {
			all.Close()
			return nil, err
		}
		*all = append(*all, s)
	}
	return *all, nil
}

func open(index int, name string, o vulkan.Options, c exec.Config, all *Sides) (*Side, error) {
	s := &Side{Name: "host", all: all, next: provided}
	s.mailbox.Handle = func(m any) { m.(func())() }
	if name != "host" {
		dev, err := vulkan.Open(name, o)
		if err != nil {
			return nil, err
		}
		s.dev, s.Name = dev, dev.Info().Name
		var known synth.Target
		if known, err = target.Probe(dev, nil); err != nil {
			return nil, errors.Join(err, dev.Close())
		}
		c.Device, c.Target = dev, known
	}
	c.Name, c.Post, c.Server = serverName(index), s.post, s.server
	s.exec = exec.New(c)
	s.queue = s.exec.Queue(store.NewSession(gen.PID{Node: "bench", ID: uint64(index + 1)}))
	return s, nil
}

func serverName(index int) string { return fmt.Sprintf("nxvk_%d", index) }

// server is the server of a name.
func (s *Side) server(name string) exec.Server {
	for i, other := range *s.all {
		if serverName(i) == name {
			return other
		}
	}
	return nil
}

// post has a function run, as the executor of a server does.
func (s *Side) post(f func()) { s.mailbox.Post(f) }

// Ask implements exec.Server.
func (s *Side) Ask(f func(*exec.Executor), _ func()) { s.post(func() { f(s.exec) }) }

// patience is how long whoever waits for an answer looks for it before it sleeps, as the reader of a connection does.
const patience = 50 * time.Microsecond

// await has the executor do something and waits for its end.
func (s *Side) await(f func(done func(error))) error {
	result := make(chan error, 1)
	s.mailbox.Deliver(func() { f(func(err error) { result <- err }) })
	for start := time.Now(); time.Since(start) < patience; runtime.Gosched() {
		select {
		case err := <-result:
			return err
		default:
		}
	}
	return <-result
}

// provided is the id of the value that other sides import.
const provided = 1

func floats(bytes int) ops.Type { return ops.Type{DType: ops.F32, Shape: ops.Shape{bytes / 4}} }

// Provide makes the value that other sides import, in memory of the device.
func (s *Side) Provide(bytes int) error {
	return s.await(func(done func(error)) {
		s.stream(ops.Instr{Op: ops.Free, Attrs: [][]int{{provided}}}, nil)
		s.stream(ops.Instr{Op: ops.Iota, Outs: []ops.Result{{ID: provided, Type: floats(bytes)}}, Attrs: [][]int{{-1}}}, nil)
		s.settle(provided, done)
	})
}

// settle calls done when a value is there and the device has done everything before.
func (s *Side) settle(id ops.ID, done func(error)) {
	s.exec.Describe(s.queue, id, func(_ ops.Type, err error) {
		if err != nil {
			done(err)
			return
		}
		s.exec.Sync(s.queue, done)
	})
}

// Take imports the value of another side, waits for it, and frees it.
func (s *Side) Take(other *Side, bytes int) error {
	return s.make(false, func(id ops.ID) {
		from := other.queue.Session
		s.stream(ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: id, Type: floats(bytes)}}}, &wire.Shared{
			Owner: etf.Pid{Node: etf.Atom(from.Owner.Node), ID: uint32(from.Owner.ID)}, Key: from.Key, ID: provided,
			Server: serverName(int(from.Owner.ID) - 1)})
	})
}

// make has a value made, waits for it, and frees it; with sync it waits for the device, too.
func (s *Side) make(sync bool, instruct func(id ops.ID)) error {
	return s.await(func(done func(error)) {
		s.next++
		id := s.next
		instruct(id)
		end := func(err error) {
			s.stream(ops.Instr{Op: ops.Free, Attrs: [][]int{{int(id)}}}, nil)
			done(err)
		}
		if sync {
			s.settle(id, end)
			return
		}
		s.exec.Describe(s.queue, id, func(_ ops.Type, err error) { end(err) })
	})
}

// join gives the side a rank of a mesh.
func (s *Side) join(id string, rank, size int) error {
	return s.await(func(done func(error)) { s.exec.JoinMesh(s.queue, wire.Mesh{ID: id, Rank: rank, Size: size}, done) })
}

// stream executes an instruction.
func (s *Side) stream(in ops.Instr, shared *wire.Shared) {
	s.exec.Stream(s.queue, []wire.Instr{{Name: in.Op.String(), Shared: shared, Instr: in}})
}

// Close ends the sessions and closes the devices.
func (all Sides) Close() {
	for _, s := range all {
		s.await(func(done func(error)) { s.exec.Sync(s.queue, done) })
	}
	for _, s := range all {
		s.await(func(done func(error)) {
			s.exec.EndNow(s.queue.Session)
			done(nil)
		})
	}
	for _, s := range all {
		for building := true; building; {
			s.await(func(done func(error)) {
				building = s.exec.Building() > 0
				done(nil)
			})
		}
		s.mailbox.Close(func() {})
		if s.dev != nil {
			s.dev.Close()
		}
	}
}
