package fuzz

import (
	"io"
	"math/rand/v2"
	"testing"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// limit is how many bytes the session may hold: programs that ask for more get
// an error, and tests stay small.
const limit = 1 << 20

// rig is an executor and one session, on the goroutine of the test.
type rig struct {
	t      *testing.T
	exec   *exec.Executor
	queue  *exec.Queue
	posted []func()
	failed map[wire.Kind]int
	read   int
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, failed: make(map[wire.Kind]int)}
	r.exec = exec.New(exec.Config{
		Post: func(f func()) { r.posted = append(r.posted, f) },
		Log:  zerolog.New(io.Discard),
	})
	s := store.NewSession(gen.PID{Node: "fuzz"})
	s.Limit = limit
	r.queue = r.exec.Queue(s)
	r.queue.Orphan = r.check
	return r
}

// check counts an error. One of kind internal is a panic that was caught.
func (r *rig) check(err error) {
	kind := wire.KindOf(err)
	r.failed[kind]++
	if kind == wire.Internal {
		r.t.Errorf("internal error: %v", err)
	}
}

// send carries out a message as a device server does, by way of its bytes.
func (r *rig) send(p []byte) {
	term, _, err := etf.Decode(p)
	if err != nil {
		return
	}
	if s, ok := wire.DecodeStream(term); ok {
		r.exec.Stream(r.queue, s.Instrs)
	}
	if q, err := wire.DecodeRequest(term); err == nil && q.Verb == wire.Download {
		r.value(q.ID, q.Offset, q.Count)
	}
	r.settle()
}

func (r *rig) settle() {
	for len(r.posted) > 0 {
		f := r.posted[0]
		r.posted = r.posted[1:]
		f()
	}
}

func (r *rig) value(id ops.ID, offset, count int) {
	r.exec.Read(r.queue, id, offset, count, func(d exec.Data, err error) {
		if err != nil {
			r.check(err)
			return
		}
		r.read++
		if d.Release != nil {
			d.Release()
		}
	})
	r.settle()
}

// end ends the session, which must leave nothing.
func (r *rig) end() {
	s := r.queue.Session
	if n := s.Bytes(); n < 0 || n > limit {
		r.t.Errorf("the session is charged for %d bytes, its limit is %d", n, limit)
	}
	r.exec.End(s)
	r.settle()
	if s.Bytes() != 0 || s.Buffers() != 0 {
		r.t.Errorf("the ended session holds %d bytes in %d values", s.Bytes(), s.Buffers())
	}
}

// run sends a random program and reads all that it made.
func run(t *testing.T, seed uint64) *rig {
	t.Helper()
	r := newRig(t)
	p := &programs{r: rand.New(rand.NewPCG(seed, 0))}
	for range 8 {
		bytes, err := etf.Append(nil, p.message())
		if err != nil {
			t.Fatal(err)
		}
		r.send(bytes)
	}
	for id := int64(1); id <= p.last; id++ {
		r.value(ops.ID(id), 0, 1<<30)
	}
	r.end()
	return r
}

// TestPrograms runs many random programs. Some of their results must be without
// an error, or the programs test nothing.
func TestPrograms(t *testing.T) {
	values, failed := 0, make(map[wire.Kind]int)
	for seed := range uint64(2000) {
		r := run(t, seed)
		values += r.read
		for kind, n := range r.failed {
			failed[kind] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d values, errors %v", values, failed)
	if values < 1000 {
		t.Errorf("only %d values were computed", values)
	}
}

// FuzzProgram looks for a seed whose program does harm.
func FuzzProgram(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { run(t, seed) })
}

// FuzzMessage sends bytes that a client might send instead of a message.
func FuzzMessage(f *testing.F) {
	for seed := range uint64(20) {
		p := &programs{r: rand.New(rand.NewPCG(seed, 1))}
		bytes, err := etf.Append(nil, p.message())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	download := etf.Tuple{etf.Atom("download"), int64(1), int64(0), int64(5)}
	bytes, err := etf.Append(nil, download)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes)
	f.Fuzz(func(t *testing.T, message []byte) {
		r := newRig(t)
		r.send(message)
		r.send(message)
		r.end()
	})
}
