package server

import (
	"fmt"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// front is where the messages of peers come in. What can be answered without the
// server is, so that it is answered also while the server is busy.
type front struct{ *Device }

// Put is that of dist.Inbox.
func (f front) Put(message any) (run bool) { return !f.inform(message) && f.mailbox.Put(message) }

// Run is that of dist.Inbox.
func (f front) Run() { f.mailbox.Run() }

// inform answers a request for info from what has been published. It reports false
// where the message is something else.
func (d *Device) inform(message any) bool {
	c, ok := message.(dist.Call)
	if !ok || c.Request != etf.Term(etf.Atom("info")) {
		return false
	}
	s, ok := d.cfg.Reporter.read()
	if !ok {
		return false
	}
	defer dist.Handled(message)
	c.Came = clock()
	d.reply(c, wire.Success(s.report()))
	return true
}

// reports has the reporter tell of this server.
func (d *Device) reports() {
	r := d.cfg.Reporter
	d.mailbox.waited = func(t time.Duration) { r.waits.Observe(t.Seconds()) }
	d.mailbox.turned = func() {
		defer d.survive()
		r.turned()
	}
	r.open(&d.mailbox, d.status)
}

// ran notes a submission that has ended on the device.
func (r *Reporter) ran(waited, ran time.Duration) {
	r.turns.Observe(waited.Seconds())
	r.runs.Observe(ran.Seconds())
}

// completed is told how long a submission took.
func (d *Device) completed(t time.Duration) { d.cfg.Reporter.submits.Observe(t.Seconds()) }

// fail publishes why the device does not serve.
func (d *Device) fail(format string, args ...any) {
	d.lost = fmt.Sprintf(format, args...)
	d.cfg.Reporter.publish()
}
