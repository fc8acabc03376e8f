package exec

import (
	"fmt"
	"time"

	"nxvk/gen/exec/exchange"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/mesh/relay"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// A collective of few bytes whose operand and result the device has is a kernel of the session (package mesh/relay), where all ranks
// can have one: the result is in the order of the session, and the run goes on as soon as it is recorded. Whether it is a result, or
// an error, all ranks know later: a check tells whoever has a value computed from it.

// quiet is for how long nobody else has used a device that waits for another one.
const quiet = 2 * time.Second

// port is by what the device of a session takes part in collectives of few bytes.
type port struct {
	*exchange.Port
	tried, open bool // open says that the device can do it
}

// relays reports whether kernels of a device may wait for other devices. A processor has its memory, and needs its threads.
func relays(d *vulkan.Device) bool { return d != nil && d.Info().Kind != vulkan.CPU }

// openPort gives a session that has joined a mesh a port, where its device can have one.
func (sh *sharing) openPort(q *Queue) {
	if !sh.relays || q.port != nil {
		return
	}
	p := new(port)
	tried := func(ok bool) { p.tried, p.open = true, ok }
	if p.Port = exchange.OpenPort(sh.exchanger(), sh.cfg.Meshes.Relay(), tried); p.Port != nil {
		q.port = p
	}
}

// closePort ends the turns of a session that ends.
func (q *Queue) closePort() {
	if q.port != nil {
		q.port.Close()
		q.port = nil
	}
}

// exchanger is what the device works with in collectives.
func (sh *sharing) exchanger() exchange.Config {
	return exchange.Config{Device: sh.dev, Feeds: sh.feeds, Kernels: sh.kernels, Post: sh.cfg.Post, Error: sh.feeds.Error}
}

// Kernel is the part of the rank where the device passes its operand on. One of the stream is waited for, and then its kernel would be, too.
func (x *collective) Kernel() mesh.Kernel {
	p := x.owner.home().port
	if p == nil || !p.open || x.run == nil || x.err != nil || x.feed == nil || x.arg.Dev == nil || x.arg.Host != nil ||
		!x.sharing.mayWait(x.owner.home()) {
		return nil
	}
	return relayer{x, p.Port}
}

// mayWait reports whether the device of a session may wait for others: it has had no work of other sessions for some time, and does what
// other collectives need of it beside a kernel that waits.
func (sh *sharing) mayWait(home *Queue) bool {
	for _, q := range sh.queues.bySession {
		if q != home && q.feed != nil && !q.feed.Quiet(quiet) {
			return false
		}
	}
	return sh.dev.Apart()
}

// relayer is a collective as a rank whose device passes the operand on.
type relayer struct {
	x    *collective
	port *exchange.Port
}

// Port implements mesh.Kernel.
func (r relayer) Port() *relay.Port { return r.port.Port }

// Reach implements mesh.Kernel.
func (r relayer) Reach() time.Time { return r.x.sharing.feed(r.x.owner).Reach() }

// Relay implements mesh.Kernel. The session goes on at once.
func (r relayer) Relay(number uint32, done func(missed bool, err error)) {
	x := r.x
	if x.err != nil || x.ended {
		done(true, &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the session does not want the collective any more")})
		return
	}
	feeds, arg := x.sharing.feeds, x.arg
	arg.Retain()
	end := func(missed bool, err error) {
		arg.Drop()
		done(missed, err)
	}
	ended := func(missed bool) {
		feeds.Checked(arg, func(err error) {
			if err == nil {
				err = feeds.Error(arg.Dev.Err())
			}
			if err == nil {
				err = feeds.Lost()
			}
			end(missed, err)
		})
	}
	f := x.sharing.feed(x.owner)
	if err := r.port.Record(f, number, arg.Dev, x.mem.Dev, x.typ.Bytes(), x.in.Outs[0].Type.Bytes(), ended); err != nil {
		end(true, feeds.Error(err))
		return
	}
	x.check = new(store.Check)
	x.mem.Checks = x.mem.Checks.With(store.Checks{x.check})
	x.sharing.counters.Relayed++
	f.Flush() // the other devices wait for it
	x.receiver.Dismiss()
}

// Settle implements mesh.Kernel.
func (r relayer) Settle(err error) {
	if r.x.check != nil {
		r.x.check.Settle(err)
	}
}
