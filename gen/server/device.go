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
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/synth"
	"nxvk/vulkan"
)

// DeviceConfig is what a device server is started with.
type DeviceConfig struct {
	Name      gen.Atom       // registered name: nxvk_0
	Index     int            // among the devices of the node
	Vulkan    *vulkan.Device // nil is the host
	Host      *memory.Host   // see exec.Config
	Work      *sched.Pool    // the processors that sessions of all devices share
	Target    synth.Target   // what target.Probe says of it
	Limit     int64          // bytes a session may hold unless it says otherwise
	Deadline  time.Duration  // of an instruction or a run unless a session says a shorter one; 0 is none
	HostLimit int            // see exec.Config
	OneByOne  bool           // see exec.Config
	Prompt    bool           // see exec.Config
	Shaders   bool           // clients may bring shaders of their own
	Watcher   Watcher
	// Direct has the messages of other nodes put into an inbox instead of the
	// actor's mailbox, until stop is called: see dist.Node.
	Direct   func(pid gen.PID, name gen.Atom, in dist.Inbox) (stop func())
	Reporter *Reporter // what others learn of the server from; nil where nobody asks
	Log      zerolog.Logger
}

// Watcher monitors processes of other nodes for an actor, which gets a
// gen.MessageDownPID when one exits or its node goes down.
type Watcher interface {
	Watch(watcher gen.PID, target gen.PID) error
	Unwatch(watcher gen.PID, target gen.PID)
}

// Device is the gen_server of a device. One message at a time, it owns the
// executor, the sessions and all their memory. The actor is what others link
// to, monitor and end, and hands on what it gets; the messages of other nodes
// go to the mailbox straight away.
type Device struct {
	act.Actor

	cfg         DeviceConfig
	mailbox     mailbox
	indirect    func() // undoes cfg.Direct
	exec        *exec.Executor
	sampler     *sample.Sampler
	chains      *chain.Chains
	incarnation uint64
	sessions    map[gen.PID]*store.Session
	sweeping    map[gen.PID]bool // sessions that have yet to answer a sweep
	sweep       int64            // number of the latest sweep
	reopening   bool
	lost        string // why the device does not serve; empty where it does
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
	if d.cfg.Reporter == nil {
		d.cfg.Reporter = NewReporter(d.cfg.Name)
	}
	// A client that is linked to the server and dies does not end it.
	d.SetTrapExit(true)
	d.sessions = make(map[gen.PID]*store.Session)
	d.mailbox.handle = d.handle
	d.open(d.cfg.Vulkan)
	d.reports()
	d.indirect = d.cfg.Direct(d.PID(), d.cfg.Name, front{d})
	return nil
}

// open begins a run of the device: a fresh executor and a new incarnation.
func (d *Device) open(dev *vulkan.Device) {
	d.incarnation = newIncarnation()
	d.exec = exec.New(exec.Config{
		Device:    dev,
		Host:      d.cfg.Host,
		Work:      d.cfg.Work,
		Target:    d.cfg.Target,
		Post:      func(f func()) { d.mailbox.post(f) },
		Sweep:     d.askSweep,
		Call:      d.callBack,
		Log:       d.cfg.Log,
		HostLimit: d.cfg.HostLimit,
		OneByOne:  d.cfg.OneByOne,
		WarmUp:    d.cfg.Prompt,
		Completed: d.completed,
	})
	d.sampler, d.chains = sample.New(d.exec), chain.New(d.exec, d.cfg.Shaders)
}

// HandleMessage hands on what Ergo delivers.
func (d *Device) HandleMessage(_ gen.PID, message any) error {
	if !d.inform(message) {
		d.mailbox.deliver(message)
	}
	return nil
}

// handle takes the stream of instructions, completions, and the ends of
// processes.
func (d *Device) handle(message any) {
	defer d.survive()
	switch m := message.(type) {
	case func():
		m()
	case aside:
		m()
	case dist.Message:
		d.stream(m.Sender, m.Term)
	case dist.Cast:
		d.stream(m.Sender, m.Request)
	case dist.Call:
		m.Came = d.mailbox.came
		d.call(m)
	case gen.MessageDownPID:
		d.end(m.PID)
	}
	d.recoverDevice()
}

// ProcessRun is that of the actor. Before it ends it frees what clients hold: once
// Ergo counts it as ended, whoever stops the node may close the device.
func (d *Device) ProcessRun() error {
	err := d.Actor.ProcessRun()
	if err != nil {
		d.release()
	}
	return err
}

// Terminate is where an actor gets that is killed while it has nothing to do.
func (d *Device) Terminate(error) { d.release() }

// release ends all sessions, once, and takes no more messages.
func (d *Device) release() {
	d.indirect()
	d.mailbox.close(func() {
		for pid := range d.sessions {
			d.end(pid)
		}
		d.cfg.Reporter.close()
	})
}

// survive keeps the server alive when a callback panics: one client's message
// must not end what others have.
func (d *Device) survive() {
	if r := recover(); r != nil {
		d.cfg.Log.Error().Bytes("stack", debug.Stack()).Msgf("message failed: %v", r)
	}
}

// stream takes instructions from a process.
func (d *Device) stream(sender gen.PID, term etf.Term) {
	if sender.Node == "" {
		return
	}
	if t, ok := term.(etf.Tuple); ok {
		if len(t) == 2 && t[0] == etf.Atom("nxvk_swept") {
			d.swept(sender, t[1])
			return
		}
		if d.answer(sender, t) || d.more(sender, t) {
			return
		}
	}
	s, ok := wire.DecodeStream(term)
	if !ok {
		d.orphan(sender, &wire.Fault{Kind: wire.BadRequest, Err: errNotStream})
		return
	}
	d.instruct(sender, s)
}

// instruct carries out instructions of a process.
func (d *Device) instruct(sender gen.PID, s wire.Stream) {
	lane := d.lane(sender)
	if s.Incarnation != 0 && s.Incarnation != d.incarnation {
		for i := range s.Instrs {
			s.Instrs[i].Err = d.stale(s.Incarnation)
		}
	}
	d.exec.Stream(lane, s.Instrs)
}

// orphan tells a process of an error that no result can carry.
func (d *Device) orphan(pid gen.PID, err error) {
	d.tell(pid, etf.Tuple{etf.Atom("nxvk_error"), etf.Atom(d.cfg.Name), wire.ErrorTerm(err)})
}

// tell sends a term to a process; that it is gone is no matter here.
func (d *Device) tell(pid gen.PID, term etf.Term) error {
	err := d.Send(pid, dist.Message{Term: term})
	if err != nil {
		d.cfg.Log.Debug().Err(err).Stringer("to", pid).Msg("send")
	}
	return err
}

// recoverDevice opens a lost device again. What was under way has been
// answered with the loss; everything older is stale.
func (d *Device) recoverDevice() {
	if d.exec.Lost() == nil || d.reopening {
		return
	}
	d.reopening = true
	d.cfg.Log.Error().Err(d.exec.Lost()).Msg("device lost; opening it again")
	d.fail("the device is lost and is being opened again: %v", d.exec.Lost())
	d.exec.Abandon()
	dev := d.cfg.Vulkan
	go func() {
		again, err := dev.Reopen()
		d.mailbox.post(func() { d.reopened(again, err) })
	}()
}

func (d *Device) reopened(dev *vulkan.Device, err error) {
	if err != nil {
		d.cfg.Log.Error().Err(err).Msg("open the device again; restart nxvk-node")
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
	d.cfg.Reporter.publish()
}
