package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// DevicesConfig has the settings of Devices.
type DevicesConfig struct {
	Devices [2]string // by index, name or UUID, or host; the same one is opened twice
	Bytes   int       // of the largest value
	Time    time.Duration
	Format  Format
}

// Devices measures values that one device imports from another one of the node: one way, the other way,
// and both ways at once. A copy begins when the value is there and ends when the importer has it.
func Devices(ctx context.Context, c DevicesConfig) (err error) {
	host, work := memory.NewHost(0), sched.NewPool(0)
	var sides [2]*side
	for i, name := range c.Devices {
		if sides[i], err = openSide(i, name, host, work); err != nil {
			return err
		}
		defer sides[i].close()
	}
	sides[0].other, sides[1].other = sides[1], sides[0]
	names := fmt.Sprintf("%s, %s", sides[0].name, sides[1].name)
	if c.Format == Benchstat {
		header(os.Stdout, names)
	} else {
		fmt.Printf("%s\n%-6s %12s %12s %12s\n", names, "", "bytes", "time", "GB/s")
	}
	for bytes := 4 << 10; bytes <= c.Bytes; bytes *= 8 {
		for _, way := range []struct {
			name string
			to   []*side
		}{{"0 to 1", sides[1:]}, {"1 to 0", sides[:1]}, {"both", sides[:]}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, took, err := copies(way.to, bytes, c.Time)
			if err != nil {
				return err
			}
			each := took / time.Duration(n)
			rate := float64(len(way.to)) * float64(bytes) / each.Seconds()
			if c.Format == Benchstat {
				line(os.Stdout, fmt.Sprintf("copy/%s/%d", way.name, bytes), n, perOp(each), quantity{rate, "B/s"})
			} else {
				fmt.Printf("%-6s %12d %12v %12.2f\n", way.name, bytes, each.Round(time.Microsecond/10), rate/1e9)
			}
		}
	}
	return nil
}

// copies has each of the sides import a value of the other one again and again for a time. It returns
// how often each has, and the time.
func copies(to []*side, bytes int, least time.Duration) (n int, took time.Duration, err error) {
	for _, s := range to {
		if err := s.other.provide(bytes); err != nil {
			return 0, 0, err
		}
	}
	round := func() error {
		errs := make([]error, len(to))
		var all sync.WaitGroup
		for i, s := range to {
			all.Go(func() { errs[i] = s.take(bytes) })
		}
		all.Wait()
		return errors.Join(errs...)
	}
	if err := round(); err != nil { // memory is taken, and kernels are compiled
		return 0, 0, err
	}
	for start := time.Now(); took < least; took = time.Since(start) {
		if err := round(); err != nil {
			return 0, 0, err
		}
		n++
	}
	return n, took, nil
}

// provided is the id of the value that the other side imports.
const provided = 1

// side is the executor of a device on a goroutine of its own, with one session.
type side struct {
	name  string
	dev   *vulkan.Device // nil is the host
	exec  *exec.Executor
	queue *exec.Queue
	other *side
	next  ops.ID

	mu     sync.Mutex
	posted []func()
	wake   chan struct{} // has room for one
	ended  chan struct{}
}

// openSide opens a device and starts its executor.
func openSide(index int, name string, host *memory.Host, work *sched.Pool) (*side, error) {
	s := &side{name: "host", next: provided, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	var known synth.Target
	if name != "host" {
		dev, err := vulkan.Open(name, vulkan.Options{})
		if err != nil {
			return nil, err
		}
		s.dev, s.name = dev, dev.Info().Name
		if known, err = target.Probe(dev); err != nil {
			return nil, errors.Join(err, dev.Close())
		}
	}
	s.exec = exec.New(exec.Config{
		Device: s.dev, Target: known, HostLimit: -1, Host: host, Work: work, Post: s.post, Name: fmt.Sprintf("nxvk_%d", index),
		Server: func(string) exec.Server { return s.other }, Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel),
	})
	s.queue = s.exec.Queue(store.NewSession(gen.PID{Node: "bench", ID: uint64(index + 1)}))
	go s.serve()
	return s, nil
}

// post has a function run on the goroutine of the executor.
func (s *side) post(f func()) {
	s.mu.Lock()
	s.posted = append(s.posted, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// serve runs what is posted until the side is closed.
func (s *side) serve() {
	for {
		s.mu.Lock()
		list := s.posted
		s.posted = nil
		s.mu.Unlock()
		for _, f := range list {
			f()
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-s.wake:
		case <-s.ended:
			return
		}
	}
}

// Ask implements exec.Server.
func (s *side) Ask(f func(*exec.Executor), _ func()) { s.post(func() { f(s.exec) }) }

// await has the executor do something and waits for its end.
func (s *side) await(f func(done func(error))) error {
	result := make(chan error, 1)
	s.post(func() { f(func(err error) { result <- err }) })
	return <-result
}

// provide makes the value that the other side imports, in memory of the device.
func (s *side) provide(bytes int) error {
	t := ops.Type{DType: ops.F32, Shape: ops.Shape{bytes / 4}}
	return s.await(func(done func(error)) {
		s.stream(ops.Free, nil, [][]int{{provided}}, nil)
		s.stream(ops.Iota, []ops.Result{{ID: provided, Type: t}}, [][]int{{-1}}, nil)
		s.exec.Describe(s.queue, provided, func(_ ops.Type, err error) {
			if err != nil {
				done(err)
				return
			}
			s.exec.Sync(s.queue, done)
		})
	})
}

// take imports the value of the other side, waits for it, and frees it.
func (s *side) take(bytes int) error {
	t := ops.Type{DType: ops.F32, Shape: ops.Shape{bytes / 4}}
	return s.await(func(done func(error)) {
		s.next++
		id, from := s.next, s.other.queue.Session
		s.stream(ops.Import, []ops.Result{{ID: id, Type: t}}, nil, &wire.Shared{
			Owner: etf.Pid{Node: etf.Atom(from.Owner.Node), ID: uint32(from.Owner.ID)}, Key: from.Key, ID: provided, Server: s.other.serverName()})
		s.exec.Describe(s.queue, id, func(_ ops.Type, err error) {
			s.stream(ops.Free, nil, [][]int{{int(id)}}, nil)
			done(err)
		})
	})
}

// serverName is the name by which the other side knows this one.
func (s *side) serverName() string { return fmt.Sprintf("nxvk_%d", s.queue.Session.Owner.ID-1) }

// stream executes an instruction.
func (s *side) stream(op ops.Op, outs []ops.Result, attrs [][]int, shared *wire.Shared) {
	s.exec.Stream(s.queue, []wire.Instr{{Name: op.String(), Shared: shared, Instr: ops.Instr{Op: op, Outs: outs, Attrs: attrs}}})
}

// close ends the session and closes the device.
func (s *side) close() {
	s.await(func(done func(error)) { s.exec.Sync(s.queue, done) })
	s.await(func(done func(error)) {
		s.exec.EndNow(s.queue.Session)
		done(nil)
	})
	close(s.ended)
	if s.dev != nil {
		s.dev.Close()
	}
}
