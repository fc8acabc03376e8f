package server

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/server/report"
	"nxvk/node/dist"
	"nxvk/vulkan"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"
)

type (
	atom  = etf.Atom
	tuple = etf.Tuple
	list  = etf.List
)

// patience is how long a test waits for a message. That much is wrong on any machine.
const patience = 5 * time.Minute

// nodes numbers the nodes of the tests.
var nodes atomic.Int32

// rig is a node with one device server and a manager, and clients that are
// actors of the same node. What the servers say is encoded and decoded on the
// way, as between nodes.
type rig struct {
	*testing.T
	node    *dist.Node
	server  gen.PID
	manager gen.PID
	watch   *watch
	inbox   deviceInbox // of the device server
	reports report.Reporters
	mapper  string // the port mapper of newNodes
}

// newRig starts the servers; change may alter how.
func newRig(t *testing.T, change func(*DeviceConfig)) *rig {
	t.Helper()
	name := gen.Atom(fmt.Sprintf("test%d@127.0.0.1", nodes.Add(1)))
	options := dist.Options{Name: name, Cookie: "c", NoListen: true}
	options.Ergo.Log.DefaultLogger.Disable = true
	n, err := dist.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	r := &rig{T: t, node: n, watch: &watch{on: make(map[gen.PID]bool)}}
	r.reports = report.Reporters{report.New("nxvk_0")}
	cfg := DeviceConfig{Name: "nxvk_0", Watcher: r.watch, Direct: n.Direct, Reporter: r.reports[0], Log: zerolog.Nop()}
	if change != nil {
		change(&cfg)
	}
	direct := cfg.Direct
	cfg.Direct = func(pid gen.PID, name gen.Atom, in dist.Inbox) func() {
		r.inbox = in.(deviceInbox)
		return direct(pid, name, in)
	}
	if r.server, err = n.SpawnRegister("nxvk_0", NewDevice(cfg), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	manager := ManagerConfig{Devices: r.reports, Patience: patience, Log: zerolog.Nop()}
	if r.manager, err = n.SpawnRegister(ManagerName, NewManager(manager), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// onDevice makes the servers of a rig serve a device, where there is one.
func onDevice(t *testing.T, o vulkan.Options) func(*DeviceConfig) {
	t.Helper()
	d := harness.Open(t, o)
	known := harness.Target(t, d)
	return func(c *DeviceConfig) { c.Vulkan, c.Target, c.HostLimit = d, known, -1 }
}

// watch stands for the monitors of other nodes.
type watch struct {
	mu    sync.Mutex
	on    map[gen.PID]bool
	fault func() // called by Watch
	end   func() // called by Unwatch
}

func (w *watch) Watch(_, target gen.PID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on[target] = true
	if w.fault != nil {
		w.fault()
	}
	return nil
}

func (w *watch) Unwatch(_, target gen.PID) {
	if w.end != nil {
		w.end()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.on, target)
}

func (w *watch) watches(pid gen.PID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.on[pid]
}

// client is a process that talks to the servers.
type client struct {
	*rig
	pid gen.PID
	got chan any
	tag int64
}

// inbox is the actor of a client: it hands on what arrives.
type inbox struct {
	act.Actor
	got chan any
}

func (i *inbox) HandleMessage(_ gen.PID, message any) error {
	if f, ok := message.(func(*inbox)); ok {
		f(i)
		return nil
	}
	i.got <- message
	return nil
}

func (r *rig) client() *client {
	r.Helper()
	c := &client{rig: r, got: make(chan any, 1000)}
	var err error
	c.pid, err = r.node.Spawn(func() gen.ProcessBehavior { return &inbox{got: c.got} }, gen.ProcessOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// do has the process of the client do something.
func (c *client) do(f func(*inbox) error) {
	c.Helper()
	done := make(chan error, 1)
	c.post(c.pid, func(i *inbox) { done <- f(i) })
	if err := <-done; err != nil {
		c.Fatal(err)
	}
}

func (r *rig) post(to gen.PID, message any) {
	r.Helper()
	if err := r.node.Send(to, message); err != nil {
		r.Fatal(err)
	}
}

// send sends a term to the device server.
func (c *client) send(t etf.Term) {
	c.Helper()
	c.post(c.server, dist.Message{Term: t, Sender: c.pid})
}

// stream sends instructions.
func (c *client) stream(instrs ...etf.Term) {
	c.Helper()
	c.send(tuple{atom("nxvk"), list(instrs)})
}

// tensor uploads floats.
func (c *client) tensor(id int64, v ...float32) {
	c.Helper()
	c.stream(tensor(id, v...))
}

// ask calls a server and gives its answer.
func (c *client) ask(server gen.PID, request etf.Term) etf.Term {
	c.Helper()
	c.tag++
	c.post(server, dist.Call{From: c.pid, Tag: c.tag, Request: request, Sender: c.pid})
	return c.answer()
}

// answer waits for the answer to the last call.
func (c *client) answer() etf.Term {
	c.Helper()
	m := c.next()
	reply, ok := m.(dist.Reply)
	if !ok || reply.Tag != c.tag {
		c.Fatalf("got %v, want the reply to call %d", m, c.tag)
	}
	return travelled(c.T, reply.Result)
}

// told waits for a message that is no reply.
func (c *client) told() etf.Term {
	c.Helper()
	m, ok := c.next().(dist.Message)
	if !ok {
		c.Fatalf("got %v, want a message", m)
	}
	return travelled(c.T, m.Term)
}

func (c *client) next() any {
	c.Helper()
	select {
	case m := <-c.got:
		return m
	case <-time.After(patience):
		c.Fatal("nothing arrives")
		return nil
	}
}

// travelled is a term as it arrives at another node.
func travelled(t *testing.T, term etf.Term) etf.Term {
	t.Helper()
	b, err := etf.Append(nil, term)
	if err != nil {
		t.Fatalf("%v: %v", term, err)
	}
	out, rest, err := etf.Decode(b)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%v: %v", term, err)
	}
	return out
}

// ok is what a call to the device server gives; an error ends the test.
func (c *client) ok(request etf.Term) etf.Term {
	c.Helper()
	return c.success(c.ask(c.server, request))
}

func (c *client) success(answer etf.Term) etf.Term {
	c.Helper()
	t, ok := answer.(tuple)
	if !ok || len(t) != 2 || t[0] != atom("ok") {
		c.Fatalf("got %v, want {ok, Reply}", answer)
	}
	return t[1]
}

// wantError checks that an answer is an error of a kind, and gives its text.
func (c *client) wantError(answer etf.Term, kind atom) string {
	c.Helper()
	t, ok := answer.(tuple)
	if !ok || len(t) != 2 || t[0] != atom("error") {
		c.Fatalf("got %v, want an error of kind %s", answer, kind)
	}
	return c.wantFault(t[1], kind)
}

// wantFault checks an error term.
func (c *client) wantFault(t etf.Term, kind atom) string {
	c.Helper()
	e, ok := t.(tuple)
	if !ok || len(e) != 4 || e[0] != kind {
		c.Fatalf("got %v, want an error of kind %s", t, kind)
	}
	return string(e[3].([]byte))
}

// wantFloats checks the elements of a value.
func (c *client) wantFloats(id int64, want ...float32) {
	c.Helper()
	if got := c.ok(tuple{atom("download"), id}); string(got.([]byte)) != string(floats(want...)) {
		c.Fatalf("value %d is %v, want %v", id, got, want)
	}
}

func floats(v ...float32) []byte {
	b := []byte{}
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func result(id int64, dims ...int64) list {
	s := tuple{}
	for _, d := range dims {
		s = append(s, d)
	}
	return list{tuple{id, atom("f32"), s}}
}

// tensor is the instruction that uploads floats, add the one that adds values.
func tensor(id int64, v ...float32) etf.Term {
	n := int64(len(v))
	return tuple{atom("tensor"), result(id, n), list{tuple{atom("f32"), tuple{n}, floats(v...)}}, list(nil)}
}

func add(id, n, x, y int64) etf.Term {
	return tuple{atom("add"), result(id, n), list{x, y}, list(nil)}
}

func free(ids ...etf.Term) etf.Term {
	return tuple{atom("free"), list(nil), list(nil), list{list(ids)}}
}

// get is an entry of a map.
func get(t *testing.T, m etf.Term, keys ...atom) etf.Term {
	t.Helper()
	for _, k := range keys {
		v, ok := m.(etf.Map).Get(k)
		if !ok {
			t.Fatalf("%v has no %s", m, k)
		}
		m = v
	}
	return m
}
