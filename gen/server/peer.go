package server

import (
	"errors"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/link"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

var errNotPeer = errors.New("nxvk_peer answers other nxvk-nodes; clients call nxvk and the device servers")

// Peer is the gen_server that answers other nodes: package link calls it. It answers on the goroutine that has read the
// call, however busy the devices are.
type Peer struct {
	act.Actor
	direct func(pid gen.PID, name gen.Atom, in dist.Inbox) (stop func())
	stop   func()
}

// NewPeer returns a factory of the actor for Ergo. direct is Direct of its node.
func NewPeer(direct func(gen.PID, gen.Atom, dist.Inbox) (stop func())) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Peer{direct: direct} }
}

// Init begins to answer.
func (p *Peer) Init(...any) error {
	p.SetTrapExit(true)
	p.stop = p.direct(p.PID(), link.ServerName, peerInbox{p})
	return nil
}

// HandleMessage answers the calls of processes of this node.
func (p *Peer) HandleMessage(_ gen.PID, message any) error {
	p.handle(message)
	return nil
}

// Terminate ends the answers.
func (p *Peer) Terminate(error) { p.stop() }

// peerInbox receives the messages of other nodes.
type peerInbox struct{ *Peer }

// Put implements dist.Inbox.
func (f peerInbox) Put(message any) (run bool) {
	f.handle(message)
	return false
}

// Run implements dist.Inbox.
func (f peerInbox) Run() {}

func (p *Peer) handle(message any) {
	defer dist.Handled(message)
	switch m := message.(type) {
	case dist.Refused:
		if c, ok := m.Call(); ok {
			p.reply(c, wire.Failure(tooLong(m)))
		}
	case dist.Call:
		p.reply(m, p.answer(m.Request))
	}
}

// reply answers a call. The caller may be gone.
func (p *Peer) reply(c dist.Call, result etf.Term) { p.Send(c.From, dist.NewReply(c, result)) }

func (p *Peer) answer(request etf.Term) etf.Term {
	if request == etf.Term(link.Alive) {
		return wire.OK
	}
	return wire.Failure(&wire.Fault{Kind: wire.BadRequest, Err: errNotPeer})
}
