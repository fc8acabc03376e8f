package exec

import (
	"fmt"

	"nxvk/gen/etf"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// work is an instruction with its operands at hand.
type work struct {
	in    *ops.Instr
	of    *wire.Instr // which it carries out
	types []ops.Type
	args  []*store.Storage // nil for a scalar literal
	own   []*store.Storage // held until the work is done

	fusion *program.Fusion // which it carries out, or nil
	copied bool            // in is the work's own

	// room for the operands of most instructions, without an allocation more
	typeRoom [3]ops.Type
	argRoom  [3]*store.Storage
}

// instr is what the plan of the work depends on.
func (w *work) instr() kernels.Instr { return kernels.Instr{Instr: w.in, Types: w.types} }

func (w *work) drop() {
	for _, m := range w.own {
		m.Drop()
	}
	w.own = nil
}

// gather finds the operands of an instruction. A literal tensor becomes memory
// on the host; a literal scalar stays in the instruction. An operand that
// carries an error is that error, and one that is not held says which it is.
func (e *Executor) gather(l *Queue, in *wire.Instr) (w *work, first error) {
	n := len(in.Ins)
	w = &work{in: &in.Instr, of: in}
	if n <= len(w.argRoom) {
		w.types, w.args = w.typeRoom[:n], w.argRoom[:n]
	} else {
		w.types, w.args = make([]ops.Type, n), make([]*store.Storage, n)
	}
	for i := range in.Ins {
		o := &in.Ins[i]
		if o.Lit != nil {
			w.types[i] = o.Lit.Type
			continue
		}
		if lit := l.literal(o.ID); lit != nil {
			w.replace(i, lit)
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
		w.types[i], w.args[i] = v.Type, v.Mem
	}
	return w, first
}

// replace makes an operand a literal, or with nil one that is memory. The instruction is copied where it
// changes.
func (w *work) replace(i int, lit *ops.Literal) {
	if !w.copied {
		in := *w.in
		in.Ins = append([]ops.Operand(nil), w.in.Ins...)
		w.in, w.copied = &in, true
	}
	w.in.Ins[i] = ops.Operand{Lit: lit}
	if lit != nil {
		w.types[i] = lit.Type
	}
}

// settleLiterals makes memory of literal tensors, so that only scalars remain
// literal. The instruction is copied where it changes.
func (w *work) settleLiterals() {
	for i := range w.in.Ins {
		lit := w.in.Ins[i].Lit
		if lit == nil || len(lit.Type.Shape) == 0 {
			continue
		}
		m := &store.Storage{Host: lit.Data}
		if b, ok := lit.Hold.(*etf.Binary); ok {
			b.Retain()
			m.Release = b.Release
		}
		m.Retain()
		w.own = append(w.own, m)
		w.replace(i, nil)
		w.args[i] = m
	}
}

// keep gives a result its id. The memory is charged to the session.
func (e *Executor) keep(l *Queue, r ops.Result, m *store.Storage) {
	if m.Owner == nil && m.Size == 0 {
		l.Session.Charge(m, int64(r.Type.Bytes()))
	}
	m.Retain()
	l.put(r.ID, store.Value{Type: r.Type, Mem: m})
}
