package server

import (
	"runtime/debug"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/chain"
	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/memory"
	"nxvk/gen/sample"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/server/report"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/synth"
	"nxvk/vulkan"
)

// DeviceConfig has the settings of a device server.
type DeviceConfig struct {
	Name      gen.Atom       // registered name: nxvk_0
	Index     int            // among the devices of the node
	Vulkan    *vulkan.Device // nil is the host
	Host      *memory.Host   // see exec.Config
	Work      *sched.Pool    // processors that the sessions of all devices share
	Target    synth.Target   // what target.Probe returned for it
	Limit     int64          // maximum bytes per session; 0 is no limit
	Deadline  time.Duration  // maximum time of an instruction or a run; 0 is no limit
	HostLimit int            // see exec.Config
	OneByOne  bool           // see exec.Config
	WarmUp    bool           // see exec.Config
	Shaders   bool           // clients may bring shaders of their own
	CloseAny  bool           // every node may close the sessions of every other
	Servers   *Servers       // of the node; nil where this is the only one
	Watcher   Watcher
	// Direct delivers the messages of other nodes to an inbox instead of the actor's
	// mailbox, until stop is called: see dist.Node.
	Direct   func(pid gen.PID, name gen.Atom, in dist.Inbox) (stop func())
	Reporter *report.Reporter // publishes the state of the server; nil creates one
	Log      zerolog.Logger
}

// Watcher monitors processes of other nodes for an actor. When one exits or its node goes
// down, the actor gets a gen.MessageDownPID.
type Watcher interface {
	Watch(watcher gen.PID, target gen.PID) error
	Unwatch(watcher gen.PID, target gen.PID)
}

// Device is the gen_server of a device. It owns the executor, the sessions and all their
// memory, and handles one message at a time. Other processes link to, monitor and stop its
// actor, which passes its messages to the mailbox. Messages of other nodes go to the mailbox
// directly.
type Device struct {
	act.Actor

	cfg         DeviceConfig
	mailbox     mailbox.Mailbox
	indirect    func() // ends the delivery of cfg.Direct
	exec        *exec.Executor
	sampler     *sample.Sampler
	chains      *chain.Chains
	incarnation uint64
	sessions    map[gen.PID]*store.Session
	sweeping    map[gen.PID]bool // sessions that have not answered the latest sweep
	sweep       int64            // number of the latest sweep
	reopening   bool
	lost        string // why the device does not serve; empty if it serves
}

// NewDevice returns a factory of the actor for Ergo.
func NewDevice(cfg DeviceConfig) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Device{cfg: cfg} }
}

// Init starts the executor and opens the mailbox.
func (d *Device) Init(...any) error {
	if d.cfg.Host == nil {
		d.cfg.Host = memory.NewHost(0)
	}
	if d.cfg.Servers == nil {
		d.cfg.Servers = NewServers(nil)
	}
	if d.cfg.Reporter == nil {
		d.cfg.Reporter = report.New(d.cfg.Name)
	}
	// The server survives the exit of a client that is linked to it.
	d.SetTrapExit(true)
	d.sessions = make(map[gen.PID]*store.Session)
	d.mailbox.Handle = d.handle
	d.open(d.cfg.Vulkan)
	d.startReports()
	d.cfg.Servers.add(d)
	d.indirect = d.cfg.Direct(d.PID(), d.cfg.Name, deviceInbox{d})
	return nil
}

// open starts the device with a fresh executor and a new incarnation.
func (d *Device) open(dev *vulkan.Device) {
	d.incarnation = newIncarnation()
	if dev != nil {
		dev.OnEnd(d.cfg.Reporter.ObserveRun)
	}
	d.exec = exec.New(exec.Config{
		Device:    dev,
		Host:      d.cfg.Host,
		Work:      d.cfg.Work,
		Target:    d.cfg.Target,
		Post:      func(f func()) { d.mailbox.Post(f) },
		Sweep:     d.askSweep,
		Call:      d.callBack,
		Log:       d.cfg.Log,
		HostLimit: d.cfg.HostLimit,
		OneByOne:  d.cfg.OneByOne,
		WarmUp:    d.cfg.WarmUp,
		Completed: d.observeSubmission,
		Spans:     d.tellSpans,

		Name:        string(d.cfg.Name),
		Incarnation: d.incarnation,
		Server:      d.cfg.Servers.find,
		Node:        string(d.PID().Node),
		Remote:      d.cfg.Servers.remote(),
		Meshes:      d.cfg.Servers.meshesOn(d.cfg.Work),
		Tell:        func(f, gone func()) { d.mailbox.Post(mailbox.Func{F: f, Gone: gone}) },
	})
	d.sampler, d.chains = sample.New(d.exec), chain.New(d.exec, d.cfg.Shaders)
}

// HandleMessage passes a message of Ergo to the mailbox.
func (d *Device) HandleMessage(_ gen.PID, message any) error {
	if !d.inform(message) {
		d.mailbox.Deliver(decode(message))
	}
	return nil
}

// handle handles a message: instructions, a call, a completion, or the end of a process.
func (d *Device) handle(message any) {
	defer d.recoverPanic()
	switch m := message.(type) {
	case func():
		m()
	case mailbox.Uncounted:
		m()
	case mailbox.Func:
		m.F()
	case dist.Message:
		d.handleStream(m.Sender, m.Term)
	case dist.Cast:
		d.handleStream(m.Sender, m.Request)
	case dist.Call:
		m.Came = d.mailbox.Came
		d.handleCall(m)
	case dist.Refused:
		d.refuse(m)
	case gen.MessageDownPID:
		d.end(m.PID)
	}
	d.recoverDevice()
}

// ProcessRun runs the actor and then frees all sessions. Ergo counts the actor as ended only
// afterwards, and then the node may close the device.
func (d *Device) ProcessRun() error {
	err := d.Actor.ProcessRun()
	if err != nil {
		d.release()
	}
	return err
}

// Terminate is called for an actor that is killed while it is idle.
func (d *Device) Terminate(error) { d.release() }

// release ends all sessions and closes the mailbox, once.
func (d *Device) release() {
	d.indirect()
	d.mailbox.Close(func() {
		d.exec.EndExports(d.ended())
		for pid := range d.sessions {
			d.endBy(pid, d.exec.EndNow) // what is posted is dropped
		}
		d.cfg.Reporter.Close()
	})
}

// recoverPanic keeps the server alive after a panic: a message of one client must not end the
// sessions of others.
func (d *Device) recoverPanic() {
	if r := recover(); r != nil {
		d.cfg.Log.Error().Bytes("stack", debug.Stack()).Msgf("a message caused a panic and was dropped; please report this as a bug: %v", r)
	}
}

// handleStream handles instructions, and answers to messages of the server. term is what decode
// has made of it.
func (d *Device) handleStream(sender gen.PID, term etf.Term) {
	if sender.Node == "" {
		return
	}
	if s, ok := term.(wire.Stream); ok {
		d.execute(sender, s)
		return
	}
	if t, ok := term.(etf.Tuple); ok {
		if len(t) == 2 && t[0] == etf.Atom("nxvk_swept") {
			d.noteSwept(sender, t[1])
			return
		}
		if d.takeAnswer(sender, t) || d.takeCredit(sender, t) {
			return
		}
	}
	s, ok := wire.DecodeStream(term)
	if !ok {
		d.reportError(sender, &wire.Fault{Kind: wire.BadRequest, Err: errNotStream})
		return
	}
	d.execute(sender, s)
}

// execute executes instructions of a process.
func (d *Device) execute(sender gen.PID, s wire.Stream) {
	q := d.queueOf(sender)
	if s.Incarnation != 0 && s.Incarnation != d.incarnation {
		for i := range s.Instrs {
			s.Instrs[i].Err = d.staleFault(s.Incarnation)
		}
	}
	d.exec.Stream(q, s.Instrs)
}

// reportError sends a process an error that no result can carry.
func (d *Device) reportError(pid gen.PID, err error) {
	d.tell(pid, etf.Tuple{etf.Atom("nxvk_error"), etf.Atom(d.cfg.Name), wire.ErrorTerm(err)})
}

// tell sends a term to a process, which may be gone.
func (d *Device) tell(pid gen.PID, term etf.Term) error {
	err := d.Send(pid, dist.Message{Term: term})
	if err != nil {
		d.cfg.Log.Debug().Err(err).Stringer("to", pid).Msg("a message was not sent")
	}
	return err
}

// recoverDevice opens a lost device again. Results under way carry the loss as their error;
// older ids become stale.
func (d *Device) recoverDevice() {
	if d.exec.Lost() == nil || d.reopening {
		return
	}
	d.reopening = true
	d.cfg.Log.Error().Err(d.exec.Lost()).Msg("the device is lost; opening it again")
	d.fail("the device is lost and is being opened again: %v", d.exec.Lost())
	d.exec.Abandon()
	dev := d.cfg.Vulkan
	go func() {
		again, err := dev.Reopen()
		d.mailbox.Post(func() { d.finishReopen(again, err) })
	}()
}

func (d *Device) finishReopen(dev *vulkan.Device, err error) {
	if err != nil {
		d.cfg.Log.Error().Err(err).Msg("the lost device cannot be opened again; restart nxvk-node")
		d.fail("the device is lost and cannot be opened again: %v; restart nxvk-node", err)
		return
	}
	for pid := range d.sessions {
		d.end(pid)
	}
	d.reopening = false
	d.cfg.Vulkan = dev
	d.open(dev)
	d.lost = ""
	d.cfg.Reporter.Publish()
}
