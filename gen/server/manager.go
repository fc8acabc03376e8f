package server

import (
	"errors"
	"runtime"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/queue"
	"nxvk/gen/server/report"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/ops/terms"
)

// ManagerName is the registered name of the manager.
const ManagerName = gen.Atom("nxvk")

var errNotManager = errors.New("send info, support, sessions, kernels, chains, metrics or {echo, Term}; gen/README.md describes them")

// ManagerConfig has the settings of the manager.
type ManagerConfig struct {
	Work     *sched.Pool      // see DeviceConfig; nil is a pool of its own
	Devices  report.Reporters // of the device servers, in order
	Patience time.Duration    // see report.Patience, which it is where zero
	Log      zerolog.Logger
}

// Manager is the gen_server of the node. It lists the devices and all sessions.
type Manager struct {
	act.Actor
	cfg         ManagerConfig
	incarnation uint64
}

// NewManager returns a factory of the actor for Ergo.
func NewManager(cfg ManagerConfig) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Manager{cfg: cfg} }
}

// Init starts the manager.
func (m *Manager) Init(...any) error {
	m.SetTrapExit(true)
	if m.cfg.Work == nil {
		m.cfg.Work = sched.NewPool(0)
	}
	m.incarnation = newIncarnation()
	if m.cfg.Patience == 0 {
		m.cfg.Patience = report.Patience
	}
	return nil
}

// HandleMessage answers calls and ignores everything else.
func (m *Manager) HandleMessage(_ gen.PID, message any) error {
	switch c := message.(type) {
	case dist.Refused:
		if call, ok := c.Call(); ok {
			m.reply(call, wire.Failure(tooLong(c)))
		}
	case dist.Call:
		if c.Request == etf.Atom("support") {
			m.answerSupport(c)
			return nil
		}
		m.reply(c, m.answer(c.Request, caller(c)))
	}
	return nil
}

// caller returns the process that sends a call.
func caller(c dist.Call) gen.PID {
	if c.Sender.Node == "" {
		return c.From
	}
	return c.Sender
}

// reply answers a call. The caller may be gone.
func (m *Manager) reply(c dist.Call, result etf.Term) {
	if err := m.Send(c.From, dist.NewReply(c, result)); err != nil {
		m.cfg.Log.Debug().Err(err).Stringer("to", c.From).Msg("an answer was not sent")
	}
}

func (m *Manager) answer(request etf.Term, from gen.PID) (reply etf.Term) {
	defer func() {
		if r := recover(); r != nil {
			reply = internalFailure(m.cfg.Log, r)
		}
	}()
	switch request {
	case etf.Atom("info"):
		return wire.Success(m.info())
	case etf.Atom("sessions"):
		return wire.Success(m.sessions(from))
	case etf.Atom("kernels"):
		return wire.Success(m.kernels())
	case etf.Atom("chains"):
		return wire.Success(m.chains())
	case etf.Atom("metrics"):
		return wire.Success(m.cfg.Devices.Term(m.cfg.Patience))
	}
	if t, ok := request.(etf.Tuple); ok && len(t) == 2 && t[0] == etf.Atom("echo") {
		return wire.Success(echo(t[1]))
	}
	return wire.Failure(&wire.Fault{Kind: wire.BadRequest, Err: errNotManager})
}

// echo sends large binaries from the memory in which they arrived.
func echo(t etf.Term) etf.Term {
	if b, ok := t.(*etf.Binary); ok {
		return etf.Outside{Bytes: b.Bytes(), Release: b.Release}
	}
	return t
}

func (m *Manager) info() etf.Term {
	var devices etf.List
	for _, s := range m.statuses() {
		devices = append(devices, infoTerm(&s))
	}
	return etf.Map{
		pair("version", Version()), pair("incarnation", m.incarnation), pair("digest", terms.Digest()),
		pair("os", runtime.GOOS+"/"+runtime.GOARCH), pair("devices", devices),
	}
}

func (m *Manager) sessions(from gen.PID) etf.Term {
	l := etf.List{}
	for i, d := range m.statuses() {
		for _, s := range d.Sessions {
			l = append(l, etf.Map{
				pair("device", i), pair("pid", s.Owner), pair("label", s.Label), pair("buffers", s.Buffers),
				pair("bytes", s.Bytes), pair("limit", limitTerm(s.Limit)),
				pair("waiting", s.Waiting), pair("waits_for", waitTerm(s.Wait)),
				pair("closable", mayClose(s.Owner, from, d.CloseAny)),
			})
		}
	}
	return l
}

// waitTerm is the reason of a wait, as nil where there is none.
func waitTerm(w queue.Wait) etf.Term {
	if w == 0 {
		return etf.Atom("nil")
	}
	return etf.Atom(w.String())
}

// statuses are the snapshots of the devices.
func (m *Manager) statuses() []report.Snapshot { return m.cfg.Devices.Snapshots(m.cfg.Patience) }
