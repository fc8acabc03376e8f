package exec

import (
	"fmt"

	"nxvk/gen/exec/placement"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// gather finds the operands of an instruction. A literal tensor becomes memory
// on the host; a literal scalar stays in the instruction. An operand that
// carries an error is that error, and one that is not held says which it is.
func (e *Executor) gather(l *Queue, in *wire.Instr) (w *placement.Work, first error) {
	w = placement.New(in)
	for i := range in.Ins {
		o := &in.Ins[i]
		if o.Lit != nil {
			w.Types[i] = o.Lit.Type
			continue
		}
		if lit := l.literal(o.ID); lit != nil {
			w.Replace(i, lit)
			continue
		}
		v, err := l.value(o.ID)
		if err != nil {
			err = &wire.Fault{Kind: wire.KindOf(err), Err: fmt.Errorf("operand %d: %w", i, err)}
		} else {
			err = v.Failure()
		}
		if err != nil && first == nil {
			first = err
		}
		w.Types[i], w.Args[i] = v.Type, v.Mem
	}
	return w, first
}

// keep gives a result its id. The memory is charged to the session.
func (e *Executor) keep(l *Queue, r ops.Result, m *store.Storage) {
	if m.Owner == nil && m.Size == 0 {
		l.Session.Charge(m, int64(r.Type.Bytes()))
	}
	m.Retain()
	l.put(r.ID, store.Value{Type: r.Type, Mem: m})
}
