package exec

import (
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

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
	ip.exec.Feed(q).Fetch(v.Mem, 0, v.Type.Bytes(), false, func(data []byte, release func(), err error) {
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
		ip.exec.cfg.Call(r.hooks[0].call)
		r.hooks = r.hooks[1:]
	}
	if r.unsent && (len(r.hooks) == 0 || r.err != nil) {
		r.unsent = false
		ip.exec.Resume(q)
	}
}

// awaitHooks waits until all messages are sent.
func (ip *interpreter) awaitHooks(q *Queue, r *run) queue.Wait {
	if len(r.hooks) == 0 || r.err != nil {
		return 0
	}
	r.unsent = true
	ip.exec.Feed(q).Flush()
	return queue.ForReadback
}
