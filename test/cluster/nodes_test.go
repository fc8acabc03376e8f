package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/link"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

type (
	tuple = etf.Tuple
	list  = etf.List
	atom  = etf.Atom
)

// newCallers is a node of this process, whose clients talk to those under test.
func newCallers(t *testing.T) *link.Links {
	t.Helper()
	l := link.New(dist.Options{Name: "caller@127.0.0.1", Cookie: cookie, Epmd: "127.0.0.1:" + epmdPort})
	t.Cleanup(l.Close)
	return l
}

// rank is a session on the first device of a node.
type rank struct {
	*testing.T
	node   *node
	client *link.Client
}

func (n *node) session(l *link.Links) *rank {
	n.t.Helper()
	c, err := l.Client(n.name)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return &rank{n.t, n, c}
}

// answer is what a call gives.
type answer struct {
	term etf.Term
	err  error
}

// ask begins a call.
func (r *rank) ask(request etf.Term) <-chan answer {
	got := make(chan answer, 1)
	r.client.Call("nxvk_0", request, func(t etf.Term, err error) { got <- answer{t, err} })
	return got
}

func (r *rank) call(request etf.Term) (etf.Term, error) {
	r.Helper()
	select {
	case a := <-r.ask(request):
		return a.term, a.err
	case <-time.After(patience):
		r.Fatalf("no answer to %v", request)
		return nil, nil
	}
}

func (r *rank) ok(request etf.Term) etf.Term {
	r.Helper()
	t, err := r.call(request)
	if err != nil {
		r.Fatal(err)
	}
	return t
}

func (r *rank) stream(instrs ...etf.Term) {
	r.client.Send("nxvk_0", tuple{atom("nxvk"), list(instrs)})
}

func f32Result(id, n int) list { return list{tuple{id, atom("f32"), tuple{n}}} }

// upload makes a value of n floats.
func (r *rank) upload(id, n int, value func(i int) float32) {
	data := make([]byte, 0, 4*n)
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value(i)))
	}
	r.stream(tuple{atom("tensor"), f32Result(id, n), list{tuple{atom("f32"), tuple{n}, data}}, list(nil)})
}

// held is what the session holds, in bytes.
func (r *rank) held() int64 {
	r.Helper()
	s, _ := r.ok(atom("memory")).(etf.Map).Get("session")
	n, _ := s.(etf.Map).Get("bytes")
	return n.(int64)
}

// bytesOf downloads a value.
func bytesOf(t etf.Term) []byte {
	switch b := t.(type) {
	case []byte:
		return b
	case *etf.Binary:
		return bytes.Clone(b.Bytes())
	}
	return nil
}

// wantAll checks that all floats of a value are x.
func (r *rank) wantAll(id, n int, x float32) {
	r.Helper()
	data := bytesOf(r.ok(tuple{atom("download"), id}))
	want := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)), n)
	if !bytes.Equal(data, want) {
		r.Fatalf("value %d of %s: %d bytes, want %d of %v", id, r.node.name, len(data), len(want), x)
	}
}

// join opens sessions as the ranks of a mesh over their nodes.
func join(ranks []*rank, id string) {
	var nodes list
	for _, r := range ranks {
		nodes = append(nodes, atom(r.node.name))
	}
	for i, r := range ranks {
		r.Helper()
		r.ok(tuple{atom("open"), etf.Map{{Key: atom("mesh"), Value: tuple{[]byte(id), i, nodes}}}})
	}
}

func allReduce(id, n, of, ranks int) etf.Term {
	var group list
	for i := range ranks {
		group = append(group, i)
	}
	return tuple{atom("all_reduce"), f32Result(id, n), list{of}, list{group, atom("sum")}}
}

// newRanks starts nodes and a session on each.
func newRanks(t *testing.T, count int, args ...string) []*rank {
	t.Helper()
	l := newCallers(t)
	var ranks []*rank
	for range count {
		ranks = append(ranks, startNode(t, args...).session(l))
	}
	return ranks
}

// TestNodesReduce: sessions of three nodes sum up values of all sizes, again and again, and one that is not of a node
// of the mesh is refused.
func TestNodesReduce(t *testing.T) {
	ranks := newRanks(t, 3, "--device", "host")
	join(ranks, "three")
	for round, n := range []int{1, 1000, 100_000, 3 << 20} {
		id := 10*round + 1
		for i, r := range ranks {
			r.upload(id, n, func(int) float32 { return float32(i + 1) })
			r.stream(allReduce(id+1, n, id, 3), allReduce(id+2, n, id+1, 3))
		}
		for _, r := range ranks {
			r.wantAll(id+2, n, 18)
		}
	}
	stranger := ranks[0].node.session(newCallers(t))
	for text, nodes := range map[string]list{
		"is of the node": {atom(ranks[1].node.name)}, "cannot connect": {atom(ranks[0].node.name), atom("nobody@127.0.0.1")}} {
		_, err := stranger.call(tuple{atom("open"), etf.Map{{Key: atom("mesh"), Value: tuple{[]byte("other"), 0, nodes}}}})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("a mesh of %v: %v", nodes, err)
		}
	}
}

// TestNodesTwoClients: the ranks of a mesh are sessions of two clients, each with one on either of two nodes. When one
// client goes, the other one has an error that names a rank, and goes on in another mesh.
func TestNodesTwoClients(t *testing.T) {
	nodes := []*node{startNode(t, "--device", "host"), startNode(t, "--device", "host")}
	here, there := newCallers(t), newCallers(t)
	ranks := []*rank{nodes[0].session(here), nodes[0].session(there), nodes[1].session(here), nodes[1].session(there)}
	join(ranks, "shared")
	for round, n := range []int{3, 50_000, 1 << 20} {
		id := 10*round + 1
		for i, r := range ranks {
			r.upload(id, n, func(int) float32 { return float32(i + 1) })
			r.stream(allReduce(id+1, n, id, 4))
		}
		for _, r := range ranks {
			r.wantAll(id+1, n, 10)
		}
	}
	var waiting []<-chan answer
	for _, r := range []*rank{ranks[0], ranks[2]} {
		r.stream(allReduce(40, 3, 1, 4))
		waiting = append(waiting, r.ask(tuple{atom("describe"), 40}))
	}
	there.Close()
	for _, w := range waiting {
		var fault *wire.Fault
		if a := <-w; !errors.As(a.err, &fault) || fault.Kind != wire.RankFailed || !strings.Contains(a.err.Error(), "rank 1") && !strings.Contains(a.err.Error(), "rank 3") {
			t.Errorf("the error of a client whose peer has gone: %v", a.err)
		}
	}
	reduceTwo([]*rank{ranks[0], ranks[2]}, "rest", 50, 3)
}

// reduceTwo has two ranks make a mesh and sum up n numbers, which get ids from one on.
func reduceTwo(two []*rank, mesh string, id, n int) {
	join(two, mesh)
	for i, r := range two {
		r.upload(id, n, func(int) float32 { return float32(i + 1) })
		r.stream(allReduce(id+1, n, id, 2))
	}
	for _, r := range two {
		r.wantAll(id+1, n, 3)
	}
}

// soon bounds how long it takes until a caller knows that a node has ended or hangs; a second is promised, and the
// machine may be busy.
const soon = 2 * time.Second

// TestNodesEnd: a node is killed, or stopped as a whole, while others wait for it, in the middle of a collective and of
// an import, on hosts and on devices. Every caller of the others has an error soon that names it. The others go on
// with another mesh, and keep nothing.
func TestNodesEnd(t *testing.T) {
	devices, rng := deviceCount(t), rand.New(rand.NewPCG(17, 30))
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		for phase, delay := range map[string]time.Duration{"waits": -1, "begins": 0, "early": 20 * time.Millisecond, "late": 100 * time.Millisecond} {
			t.Run("hosts "+name+" "+phase, func(t *testing.T) { endNode(t, rng, signal, delay, newRanks(t, 3, "--device", "host")) })
			t.Run("devices "+name+" "+phase, func(t *testing.T) {
				if devices == 0 {
					t.Skip("no device on this machine")
				}
				l := newCallers(t)
				var ranks []*rank
				for i := range 3 {
					ranks = append(ranks, startNode(t, "--device", strconv.Itoa(i%devices), "--host-limit", "1").session(l))
				}
				endNode(t, rng, signal, delay, ranks)
			})
		}
	}
}

// deviceCount is how many devices the machine has.
func deviceCount(t *testing.T) int {
	t.Helper()
	out, err := exec.Command(nodeBinary, "devices", "--json").Output()
	if err != nil {
		return 0
	}
	var devices []struct {
		Index *int
	}
	if err := json.Unmarshal(out, &devices); err != nil {
		t.Fatalf("devices --json: %v\n%s", err, out)
	}
	return len(devices)
}

// endNode ends the last of three nodes while the others wait for it. A negative delay ends it before it begins.
func endNode(t *testing.T, rng *rand.Rand, signal syscall.Signal, delay time.Duration, ranks []*rank) {
	const n = 16 << 20
	last := ranks[2]
	join(ranks, "mesh")
	opened := last.ok(tuple{atom("open"), etf.Map(nil)}).(etf.Map)
	last.upload(1, n, func(int) float32 { return 3 })
	last.ok(atom("sync"))
	var waiting []<-chan answer
	for i, r := range ranks[:2] {
		r.upload(1, n, func(int) float32 { return float32(i) })
		r.ok(atom("sync"))
		get := func(k atom) etf.Term { v, _ := opened.Get(k); return v }
		shared := tuple{atom("shared"), tuple{atom("nxvk_0"), atom(last.node.name)}, get("incarnation"), get("session"), get("key"), 1}
		r.stream(allReduce(2, n, 1, 3))
		waiting = append(waiting, r.ask(tuple{atom("describe"), 2}))
		if delay >= 0 { // else nothing is on its way but signs of life
			r.stream(tuple{atom("import"), f32Result(3, n), list{shared}, list(nil)})
			waiting = append(waiting, r.ask(tuple{atom("describe"), 3}))
		}
	}
	if delay >= 0 {
		last.stream(allReduce(2, n, 1, 3))
	}
	time.Sleep(max(delay, 0) + time.Duration(rng.IntN(20))*time.Millisecond)
	if err := last.node.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, w := range waiting {
		a := <-w
		took := time.Since(began)
		if took > soon {
			t.Errorf("a caller knew after %v: %v", took, a.err)
		}
		var fault *wire.Fault
		if a.err != nil && (!errors.As(a.err, &fault) || fault.Kind != wire.RankFailed && fault.Kind != wire.ServerDown ||
			!strings.Contains(a.err.Error(), "rank 2") && !strings.Contains(a.err.Error(), last.node.name)) {
			t.Errorf("the error does not name the node: %v", a.err)
		}
		if a.err == nil && delay < 0 {
			t.Error("a collective has ended without one of its ranks")
		}
	}
	t.Logf("the callers knew after %v", time.Since(began))
	reduceAgain(t, ranks[:2])
}

// reduceAgain has the ranks that are left make a mesh of their own, and looks that nothing of the one before stays.
func reduceAgain(t *testing.T, ranks []*rank) {
	reduceTwo(ranks, "two", 10, 1000)
	for _, r := range ranks {
		r.stream(tuple{atom("free"), list(nil), list(nil), list{list{1, 2, 3, 10, 11}}})
		for end := time.Now().Add(patience); r.held() != 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s holds %d bytes\n%s", r.node.name, r.held(), r.node.log.text())
			}
		}
	}
}
