package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/chain"
	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/server/report"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/ops"
	"nxvk/ops/terms"
	"nxvk/synth/spmd"
)

// handleCall answers a request to the device server, also after a panic.
func (d *Device) handleCall(c dist.Call) {
	defer func() {
		if r := recover(); r != nil {
			d.reply(c, internalFailure(d.cfg.Log, r))
		}
	}()
	session := caller(c)
	r, ok := c.Request.(request)
	if !ok {
		r.Request, r.err = wire.DecodeRequest(c.Request)
	}
	err := r.err
	if r.First != nil {
		d.execute(session, *r.First)
	}
	if err == nil && r.Incarnation != 0 && r.Incarnation != d.incarnation {
		err = d.staleFault(r.Incarnation)
	}
	if err != nil {
		d.reply(c, wire.Failure(err))
		return
	}
	if r.Verb == wire.Info {
		s := report.Snapshot{Info: d.info()}
		d.reply(c, wire.Success(infoTerm(&s)))
		return
	}
	if r.Verb == wire.CloseOf {
		d.closeOf(c, r.Owner, session)
		return
	}
	d.serve(c, r.Request, session)
}

// refuse answers a message for which there was no memory: a caller gets an error as its
// answer, the sender of a stream an nxvk_error.
func (d *Device) refuse(m dist.Refused) {
	err := tooLong(m)
	if c, ok := m.Call(); ok {
		c.Came = d.mailbox.Came
		d.reply(c, wire.Failure(err))
	} else if m.Sender.ID != 0 {
		d.reportError(m.Sender, err)
	}
}

// tooLong is the error of a message for which there was no memory.
func tooLong(m dist.Refused) error {
	return &wire.Fault{Kind: wire.Limit, Err: fmt.Errorf(
		"the message is dropped: %w; send fewer terms in a message, numbers as binaries, or raise nxvk-node's --memory-limit", m.Err)}
}

// internalFailure logs a panic and returns the answer to the request that caused it.
func internalFailure(log zerolog.Logger, reason any) etf.Term {
	log.Error().Bytes("stack", debug.Stack()).Msgf("a request caused a panic; please report this as a bug: %v", reason)
	return wire.Failure(&wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", reason)})
}

// serve answers a request of a session.
func (d *Device) serve(c dist.Call, r wire.Request, pid gen.PID) {
	q := d.queueOf(pid)
	switch r.Verb {
	case wire.Open:
		d.openSession(c, q, r.Options)
	case wire.Download:
		d.exec.ReadTraced(q, r.Context, exec.Range{ID: r.ID, Offset: r.Offset, Count: r.Count}, func(data exec.Data, err error) { d.replyData(c, data, err) })
	case wire.Describe:
		d.exec.Describe(q, r.ID, func(t ops.Type, err error) {
			d.replyResult(c, func() etf.Term { return typeTerm(t) }, err)
		})
	case wire.Sync:
		d.exec.Sync(q, func(err error) { d.replyOK(c, err) })
	case wire.Barrier:
		d.exec.Barrier(q, func(err error) { d.replyOK(c, err) })
	case wire.StartSample:
		d.startSample(c, q, pid, r.Sample)
	case wire.ChainSteps:
		d.chains.Chain(q, r.Chain, d.replyRows(c))
	case wire.Shader:
		d.chains.Shader(q, r.Key, func(s chain.ShaderInfo, err error) {
			d.replyResult(c, func() etf.Term { return shaderTerm(s) }, err)
		})
	case wire.LeapfrogSteps:
		d.sampler.Leapfrog(q, r.Leapfrog, d.replyRows(c))
	case wire.Summarize:
		d.sampler.Summarize(q, r.Summary, func(list []nuts.Summary, err error) {
			d.replyResult(c, func() etf.Term { return summariesTerm(list) }, err)
		})
	case wire.Explain:
		way := map[etf.Atom]exec.Explanations{wire.Profile: exec.Measured, wire.GPU: exec.OnGPU}[r.Way]
		d.exec.Explain(q, r.Key, way, func(parts []explain.Part, err error) {
			d.replyExplained(c, q, parts, way == exec.Measured, err)
		})
	case wire.Shares:
		d.exec.Shares(q, r.Key, func(s *spmd.Result, err error) {
			d.replyResult(c, func() etf.Term { return sharesTerm(s) }, err)
		})
	case wire.Stop:
		d.stopSample(c, q, r.Run)
	case wire.Close:
		d.exec.Do(q, func(*exec.Queue) queue.Wait {
			d.end(pid)
			d.reply(c, wire.OK)
			return 0
		})
	case wire.Memory:
		d.exec.Do(q, func(q *exec.Queue) queue.Wait {
			d.reply(c, wire.Success(d.memoryTerm(q.Session)))
			return 0
		})
	}
}

// openSession sets the options of a session, and gives it its place in a mesh.
func (d *Device) openSession(c dist.Call, q *exec.Queue, o wire.Options) {
	if err := d.setOptions(q, o); err != nil {
		d.reply(c, wire.Failure(err))
		return
	}
	s := q.Session
	opened := func() etf.Term {
		return etf.Map{
			{Key: etf.Atom("key"), Value: s.Key},
			{Key: etf.Atom("incarnation"), Value: d.incarnation},
			{Key: etf.Atom("session"), Value: dist.Pid(s.Owner)},
			{Key: etf.Atom("version"), Value: Version()},
		}
	}
	if o.Mesh == nil {
		d.reply(c, wire.Success(opened()))
		return
	}
	d.exec.JoinMesh(q, *o.Mesh, func(err error) { d.replyResult(c, opened, err) })
}

// setOptions sets the options of a session.
func (d *Device) setOptions(q *exec.Queue, o wire.Options) error {
	if o.Digest != "" && o.Digest != terms.Digest() {
		return &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
			"the client's op table (digest %s) differs from that of this nxvk-node %s (digest %s): install the same version of both",
			o.Digest, Version(), terms.Digest())}
	}
	s := q.Session
	if o.LimitSet {
		s.Limit = o.Limit
		if d.cfg.Limit > 0 {
			s.Limit = min(s.Limit, d.cfg.Limit)
		}
	}
	if o.Label != "" {
		s.Label = o.Label
	}
	s.Sweep = o.Sweep
	if o.Flow {
		q.TellFlow(func(id, window int64) {
			d.tell(s.Owner, etf.Tuple{etf.Atom("nxvk_flow"), etf.Atom(d.cfg.Name), id, window})
		})
	}
	if o.DeadlineSet {
		s.Deadline = o.Deadline
		if most := d.cfg.Deadline; most > 0 && (s.Deadline == 0 || s.Deadline > most) {
			s.Deadline = most
		}
	}
	if o.Weight != 0 {
		d.exec.SetWeight(q, float64(o.Weight)/wire.DefaultWeight)
	}
	return nil
}

// failure is the answer to a request that has failed. A computation that ends with its session has no kind of
// its own.
func failure(err error) etf.Term {
	if errors.Is(err, sched.ErrCancelled) || errors.Is(err, context.Canceled) {
		err = &wire.Fault{Kind: wire.Cancelled, Err: errors.New("the session was closed before the answer")}
	}
	return wire.Failure(err)
}

// reply answers a call. It reports false if the answer cannot be sent, because the caller is
// gone.
func (d *Device) reply(c dist.Call, result etf.Term) (sent bool) {
	err := d.Send(c.From, dist.NewReply(c, result))
	d.cfg.Reporter.ObserveCall(mailbox.Clock() - c.Came)
	if err != nil {
		d.cfg.Log.Debug().Err(err).Stringer("to", c.From).Msg("an answer was not sent")
	}
	return err == nil
}

func (d *Device) replyOK(c dist.Call, err error) {
	if err != nil {
		d.reply(c, failure(err))
		return
	}
	d.reply(c, wire.OK)
}

func (d *Device) replyResult(c dist.Call, term func() etf.Term, err error) {
	if err != nil {
		d.reply(c, failure(err))
		return
	}
	d.reply(c, wire.Success(term()))
}

// inline is the largest size, in bytes, of data that is copied into the message.
const inline = 4 << 10

// replyData sends the bytes of a value, larger ones without a copy.
func (d *Device) replyData(c dist.Call, data exec.Data, err error) {
	if err != nil {
		d.reply(c, failure(err))
		return
	}
	if data.Release == nil {
		data.Release = func() {}
	}
	if len(data.Bytes) <= inline {
		copied := append([]byte{}, data.Bytes...)
		data.Release()
		d.reply(c, wire.Success(copied))
		return
	}
	out := etf.NewOutside(data.Bytes, data.Release)
	if !d.reply(c, wire.Success(out)) {
		out.Release()
	}
}

func typeTerm(t ops.Type) etf.Term {
	shape := make(etf.Tuple, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int64(n)
	}
	return etf.Tuple{etf.Atom(t.DType.String()), shape}
}

func limitTerm(n int64) etf.Term {
	if n == math.MaxInt64 {
		return etf.Atom("infinity")
	}
	return n
}
