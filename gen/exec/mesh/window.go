package mesh

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/mesh/schedule"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/vulkan"
)

// Device is a rank whose operand and result are in the memory of a device. Its methods are called on the goroutine
// of the Executor of its session.
type Device interface {
	// Kind is the model of the device and its driver: kernels of devices of one kind give the same bits.
	Kind() string
	// Open has the device import memory, unless it has that as a buffer already, and make ready what the schedule
	// needs of the rank at a place of the group. ready is called once, with the buffer or with the reason why the
	// device cannot take part.
	Open(mem *vulkan.HostMemory, have *vulkan.Buffer, s *schedule.Schedule, at int, ready func(*vulkan.Buffer, error))
	// Step has the device carry out commands. With last it has then all that makes the result, and the rank need not wait for
	// the device. done is called once, from any goroutine, when the device has carried them out.
	Step(list []schedule.Command, last bool, done func(error))
}

// window is memory that the devices of a group share. Its collectives take turns.
type window struct {
	group   []int
	mem     *vulkan.HostMemory
	buffers []*vulkan.Buffer // of mem, by place in the group; nil where a device has not imported it
	refused bool             // a device cannot
	busy    *exchange
	waiting []*exchange
	closed  bool // a rank has left: the memory goes when busy has ended
}

// exchange is a collective of a group whose devices share memory. A rank is given step t when all ranks have
// completed step t - schedule.Lag.
type exchange struct {
	call     *call
	window   *window
	schedule *schedule.Schedule
	opening  int   // ranks that are not ready
	given    []int // by place: steps
	done     []int
}

// share returns the exchange that a call is; nil where the host passes its chunks on: where there are few bytes, which
// arrive sooner so, or a rank that cannot share memory.
func (c *call) share() *exchange {
	bytes := c.t.Bytes()
	if bytes <= shard.HostBytes {
		return nil
	}
	alike := true
	for _, m := range c.parties {
		if m.device == nil {
			return nil
		}
		alike = alike && m.device.Kind() == c.parties[0].device.Kind()
	}
	s, ok := schedule.New(c.in.Op, len(c.group), bytes, c.meeting.mesh.all.Options(c.in.Op, len(c.group), bytes, alike))
	if !ok || c.in.Op == ops.AllReduce && c.t.Size() == 0 {
		return nil
	}
	w := c.meeting.mesh.window(c.group)
	if w.refused {
		return nil
	}
	n := len(c.group)
	return &exchange{call: c, window: w, schedule: s, opening: n, given: make([]int, n), done: make([]int, n)}
}

// window returns the window of a group.
func (m *mesh) window(group []int) *window {
	key := fmt.Sprint(group)
	w := m.windows[key]
	if w == nil {
		w = &window{group: group, buffers: make([]*vulkan.Buffer, len(group))}
		m.windows[key] = w
	}
	return w
}

// has reports whether a rank is in the group.
func (w *window) has(rank int) bool { return slices.Contains(w.group, rank) }

// next begins the exchange that has waited longest, where none is under way.
func (w *window) next(after *actions) {
	for w.busy == nil && len(w.waiting) > 0 {
		x := w.waiting[0]
		w.waiting = w.waiting[1:]
		switch {
		case x.call.failed != nil:
		case w.refused:
			x.call.exchange = nil
			x.call.send(after)
		default:
			w.busy = x
			x.open(after)
		}
	}
}

// drop gives the memory back once no device uses it. What is under way goes on with its own.
func (w *window) drop() {
	for i, b := range w.buffers {
		if b != nil {
			b.Free()
		}
		w.buffers[i] = nil
	}
	if w.mem != nil {
		w.mem.Free()
	}
	w.mem = nil
}

// open has the ranks make themselves ready.
func (x *exchange) open(after *actions) {
	w := x.window
	if n := x.schedule.SharedBytes(); w.mem == nil || len(w.mem.Bytes()) < n {
		w.drop()
		w.mem = vulkan.AllocShared(n)
	}
	mem := w.mem
	for i, m := range x.call.parties {
		have := w.buffers[i]
		m.tell(after, func() {
			m.device.Open(mem, have, x.schedule, i, func(b *vulkan.Buffer, err error) { x.ready(i, mem, have, b, err) })
		}, func() { x.gone(i) })
	}
}

// gone fails the call because the server of a rank has ended.
func (x *exchange) gone(i int) {
	(&Entry{call: x.call, at: i}).Fail(failed("rank %d has ended with its device server", x.call.parties[i].place.rank))
}

// ready notes that a rank is ready, or that it cannot share memory.
func (x *exchange) ready(i int, mem *vulkan.HostMemory, have, b *vulkan.Buffer, err error) {
	var after actions
	w := x.window
	mu := &x.call.meeting.mesh.all.mu
	mu.Lock()
	switch {
	case w.busy != x: // it has failed, and mem may be gone
		if b != nil && b != have {
			after.add(b.Free)
		}
	case err != nil:
		w.refused, w.busy = true, nil
		w.drop()
		x.call.exchange = nil
		x.call.send(&after)
		w.next(&after)
	default:
		w.buffers[i] = b
		if x.opening--; x.opening == 0 {
			x.advance(&after)
		}
	}
	mu.Unlock()
	after.run()
}

// advance gives the ranks the steps that they may begin.
func (x *exchange) advance(after *actions) {
	for moved := true; moved; {
		moved = false
		first := x.first()
		for i := range x.given {
			for x.given[i] < x.schedule.Steps() && x.given[i]-schedule.Lag < first {
				x.give(i, after)
				moved = true
			}
		}
	}
	if x.first() < x.schedule.Steps() {
		return
	}
	w := x.window
	w.busy = nil
	if w.closed {
		w.drop()
	}
	w.next(after)
}

// first is how many steps all ranks have completed.
func (x *exchange) first() int {
	first := x.done[0]
	for _, n := range x.done {
		first = min(first, n)
	}
	return first
}

// givenAll reports whether the ranks have been given all steps, which they are at the same time. In the last steps each
// reads what the others have shared, so nobody needs a rank any more.
func (x *exchange) givenAll() bool { return x.given[0] == x.schedule.Steps() }

// give gives a rank its next step. One without commands is complete at once, unless those before it are not.
func (x *exchange) give(i int, after *actions) {
	list := x.schedule.Commands(x.given[i], i)
	x.given[i]++
	last := x.given[i] == x.schedule.Steps()
	if len(list) == 0 && !last && x.done[i] == x.given[i]-1 {
		x.done[i]++
		return
	}
	m := x.call.parties[i]
	m.tell(after, func() { m.device.Step(list, last, func(err error) { x.stepped(i, err) }) }, func() { x.gone(i) })
}

// stepped notes that a rank has completed a step. The device completes them in order. An error of the last ones is in
// the result of the rank alone.
func (x *exchange) stepped(i int, err error) {
	var after actions
	mu := &x.call.meeting.mesh.all.mu
	mu.Lock()
	if err != nil && !x.givenAll() {
		mu.Unlock()
		(&Entry{call: x.call, at: i}).Fail(err)
		return
	}
	if x.window.busy == x {
		x.done[i]++
		x.advance(&after)
	}
	mu.Unlock()
	after.run()
}

// abort ends an exchange that has failed. Devices may yet write what they have begun with, so the next
// one gets other memory.
func (x *exchange) abort(after *actions) {
	if w := x.window; w.busy == x {
		w.busy = nil
		w.drop()
		w.next(after)
	}
}
