package exec

import (
	"fmt"
	"slices"

	"nxvk/gen/etf"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Call is a hook or a callback of a run: what the process that answers gets.
type Call struct {
	To    etf.Pid
	Run   ops.ID
	Ref   uint64 // 0 for a hook, which is not answered
	Index int
	Types []ops.Type
	Data  [][]byte // copies
}

// pending is a callback that waits for its answer.
type pending struct {
	ref    uint64
	data   [][]byte
	err    error
	answer bool
}

// callBack sends the operands of a hook or a callback, and sees to the answer. sent
// says that the step is done.
func (ip *interpreter) callBack(q *Queue, r *run, s *program.Step) (wait queue.Wait, sent bool) {
	switch {
	case r.call != nil:
		return ip.takeAnswer(r, s)
	case r.in.Callbacks == nil:
		r.err = &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
			"the program calls back (%v %d), but the run names no process for that", s.In.Op, s.In.Attrs[0][0])}
		return 0, false
	case s.In.Op == ops.Hook:
		ip.sendHook(q, r, s)
		return 0, r.err == nil
	}
	if wait := ip.awaitHooks(q, r); wait != 0 {
		return wait, false
	}
	c := r.callOf(s)
	for _, o := range s.In.Ins {
		data, v, ok := r.onHost(o)
		switch {
		case v.Failure() != nil:
			r.err = v.Failure()
		case q.failed != nil:
			r.err, q.failed = q.failed, nil
		case !ok:
			if _, r.err = ip.transfers.ReadBack(q, v.Mem, v.Type); r.err == nil {
				return queue.ForAnswer, false
			}
		}
		if r.err != nil {
			return 0, false
		}
		c.Types, c.Data = append(c.Types, v.Type), append(c.Data, data)
	}
	ip.calls++
	c.Ref = ip.calls
	r.call = &pending{ref: c.Ref}
	ip.cfg.Call(c)
	return queue.ForAnswer, false
}

// callOf is what the process that answers a step gets, without values.
func (r *run) callOf(s *program.Step) Call {
	return Call{To: *r.in.Callbacks, Run: r.id(), Index: s.In.Attrs[0][0]}
}

// takeAnswer ends a callback with what came, or goes on waiting.
func (ip *interpreter) takeAnswer(r *run, s *program.Step) (wait queue.Wait, sent bool) {
	c := r.call
	if !c.answer {
		return queue.ForAnswer, false
	}
	r.call = nil
	if c.err == nil && len(c.data) != len(s.In.Outs) {
		c.err = fmt.Errorf("%d values are wanted, %d came", len(s.In.Outs), len(c.data))
	}
	for i, o := range s.In.Outs {
		if c.err == nil && len(c.data[i]) != o.Type.Bytes() {
			c.err = fmt.Errorf("value %d is %v and takes %d bytes, %d came", i, o.Type, o.Type.Bytes(), len(c.data[i]))
		}
	}
	if c.err != nil {
		r.err = &wire.Fault{Kind: wire.CallbackFailed, Err: fmt.Errorf("callback %d: %w", s.In.Attrs[0][0], c.err)}
		return 0, false
	}
	for i, o := range s.In.Outs {
		m := &store.Storage{Host: c.data[i]}
		if err := m.Take(ip.memory.Host.Budget, int64(len(c.data[i]))); err != nil {
			r.err = ip.memory.HostError(err)
			return 0, false
		}
		m.Retain()
		r.set(o.ID, store.Value{Type: o.Type, Mem: m})
	}
	return 0, true
}

// answer has the run go on whose callback has got an answer.
func (ip *interpreter) answer(from etf.Pid, run ops.ID, ref uint64, data [][]byte, err error) {
	for _, home := range ip.queues.bySession {
		for _, q := range append(slices.Clone(home.asyncs), home) {
			if r := q.run; r != nil && r.call != nil && r.call.ref == ref && r.id() == run && *r.in.Callbacks == from {
				r.call.data, r.call.err, r.call.answer = data, err, true
				ip.queues.Resume(q)
				return
			}
		}
	}
}

// hook is a message to the client whose values are on their way from the device. The run goes on meanwhile; messages
// are sent in the order of the hooks, and before the run calls back or ends.
type hook struct {
	call Call
	left int // values that have not come
}

// sendHook begins a message.
func (ip *interpreter) sendHook(q *Queue, r *run, s *program.Step) {
	h := &hook{call: r.callOf(s)}
	h.call.Types, h.call.Data = make([]ops.Type, len(s.In.Ins)), make([][]byte, len(s.In.Ins))
	r.hooks = append(r.hooks, h)
	for i, o := range s.In.Ins {
		data, v, ok := r.onHost(o)
		switch h.call.Types[i] = v.Type; {
		case v.Failure() != nil:
			r.err = v.Failure()
			return
		case ok:
			h.call.Data[i] = data
		default:
			h.left++
			ip.fetch(q, r, v, func(data []byte) {
				h.call.Data[i] = data
				h.left--
			})
		}
	}
	ip.deliver(q, r)
}

// onHost is a copy of the elements of an operand, if the host has them, and the value.
func (r *run) onHost(o ops.Operand) (data []byte, v store.Value, ok bool) {
	lit := o.Lit
	if lit == nil {
		lit = r.lits[o.ID]
	}
	if lit != nil {
		return lit.Data, store.Value{Type: lit.Type}, true
	}
	if v = r.slots[o.ID]; v.Failure() != nil || !v.Mem.Bring() {
		return nil, v, false
	}
	return append([]byte(nil), v.Mem.Host[:v.Type.Bytes()]...), v, true
}

// fetch reads a value from the device while the run goes on, and calls done with a copy.
func (ip *interpreter) fetch(q *Queue, r *run, v store.Value, done func(data []byte)) {
	v.Mem.Retain()
	ip.feed(q).Fetch(v.Mem, 0, v.Type.Bytes(), false, func(data []byte, release func(), err error) {
		if err == nil {
			done(append([]byte(nil), data...))
		} else if r.err == nil {
			r.err = err
		}
		if data != nil {
			release()
		}
		v.Mem.Drop()
		ip.deliver(q, r)
	})
}

// deliver sends the messages whose values are there, and has a run go on that waits for that.
func (ip *interpreter) deliver(q *Queue, r *run) {
	for r.err == nil && len(r.hooks) > 0 && r.hooks[0].left == 0 {
		ip.cfg.Call(r.hooks[0].call)
		r.hooks = r.hooks[1:]
	}
	if r.unsent && (len(r.hooks) == 0 || r.err != nil) {
		r.unsent = false
		ip.queues.Resume(q)
	}
}

// awaitHooks waits until all messages are sent.
func (ip *interpreter) awaitHooks(q *Queue, r *run) queue.Wait {
	if len(r.hooks) == 0 || r.err != nil {
		return 0
	}
	r.unsent = true
	ip.feed(q).Flush()
	return queue.ForReadback
}
