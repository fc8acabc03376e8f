package server

import (
	"fmt"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// deviceInbox receives the messages of peers. It answers requests for info itself, so that
// they are answered while the server is busy.
type deviceInbox struct{ *Device }

// Put implements dist.Inbox.
func (f deviceInbox) Put(message any) (run bool) {
	return !f.inform(message) && f.mailbox.Put(decode(message))
}

// Run implements dist.Inbox.
func (f deviceInbox) Run() { f.mailbox.Run() }

// request is what decode makes of the term of a call.
type request struct {
	wire.Request
	err error
}

// decode replaces the term of a message by the instructions or the request that it stands for. It
// runs on the goroutine that has read the message: to decode a program of 50,000 instructions
// takes tens of milliseconds, in which the server handles the messages of others. A message that
// is neither stays as it is, and so does one that causes a panic: the server meets that again,
// logs it and answers.
func decode(message any) (decoded any) {
	defer func() {
		if recover() != nil {
			decoded = message
		}
	}()
	switch m := message.(type) {
	case dist.Message:
		if s, ok := wire.DecodeStream(m.Term); ok {
			m.Term = s
			return m
		}
	case dist.Cast:
		if s, ok := wire.DecodeStream(m.Request); ok {
			m.Request = s
			return m
		}
	case dist.Call:
		r, err := wire.DecodeRequest(m.Request)
		m.Request = request{r, err}
		return m
	}
	return message
}

// inform answers a request for info from the latest snapshot. It reports false for any other
// message.
func (d *Device) inform(message any) bool {
	c, ok := message.(dist.Call)
	if !ok || c.Request != etf.Term(etf.Atom("info")) {
		return false
	}
	s, ok := d.cfg.Reporter.Read()
	if !ok {
		return false
	}
	defer dist.Handled(message)
	c.Came = mailbox.Clock()
	d.reply(c, wire.Success(infoTerm(&s)))
	return true
}

// startReports connects the reporter to this server.
func (d *Device) startReports() {
	r := d.cfg.Reporter
	d.mailbox.OnWaited = func(t time.Duration) { r.ObserveWait(t) }
	d.mailbox.AfterMessage = func() {
		defer d.recoverPanic()
		r.PublishIfOld()
	}
	r.Open(&d.mailbox, d.status)
}

// observeSubmission notes the time from submission to completion.
func (d *Device) observeSubmission(t time.Duration) { d.cfg.Reporter.ObserveSubmission(t) }

// fail publishes the reason why the device does not serve.
func (d *Device) fail(format string, args ...any) {
	d.lost = fmt.Sprintf(format, args...)
	d.cfg.Reporter.Publish()
}
