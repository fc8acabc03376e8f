package placement

import (
	"slices"

	"nxvk/gen/etf"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Work is an instruction with its operands at hand.
type Work struct {
	In    *ops.Instr
	From  *wire.Instr // which it carries out
	Types []ops.Type
	Args  []*store.Storage // nil for a scalar literal
	own   []*store.Storage // held until the work is done

	Fusion *program.Fusion // which it carries out, or nil
	Way    *kernels.Way    // how, where that has been chosen
	copied bool            // in is the work's own

	// room for the operands of most instructions, without an allocation more
	typeRoom [3]ops.Type
	argRoom  [3]*store.Storage
}

// New returns the work of an instruction whose operands are to be found.
func New(in *wire.Instr) *Work {
	n := len(in.Ins)
	w := &Work{In: &in.Instr, From: in}
	if n <= len(w.argRoom) {
		w.Types, w.Args = w.typeRoom[:n], w.argRoom[:n]
	} else {
		w.Types, w.Args = make([]ops.Type, n), make([]*store.Storage, n)
	}
	return w
}

// Reset makes w the work of an instruction whose operands are to be found. It keeps the room
// for them.
func (w *Work) Reset(in *wire.Instr) {
	n := len(in.Ins)
	types, args := append(w.Types[:0], make([]ops.Type, n)...), append(w.Args[:0], make([]*store.Storage, n)...)
	*w = Work{In: &in.Instr, From: in, Types: types, Args: args}
}

// Data is the elements of an operand that is on the host.
func (w *Work) Data(i int) []byte {
	if m := w.Args[i]; m != nil {
		return m.Host
	}
	return w.In.Ins[i].Lit.Data
}

// Instr is what the plan of the work depends on.
func (w *Work) Instr() kernels.Instr { return kernels.Instr{Instr: w.In, Types: w.Types} }

// Hold returns the same work with holds on all its operands, until its Release.
func (w *Work) Hold() *Work {
	held := &Work{In: w.In, From: w.From, Types: slices.Clone(w.Types), Args: slices.Clone(w.Args), Fusion: w.Fusion}
	for _, m := range held.Args {
		if m != nil {
			m.Retain()
			held.own = append(held.own, m)
		}
	}
	return held
}

// Release lets go of what the work holds.
func (w *Work) Release() {
	for _, m := range w.own {
		m.Drop()
	}
	w.own = nil
}

// Replace makes an operand a literal, or with nil one that is memory. The instruction is copied where it
// changes.
func (w *Work) Replace(i int, lit *ops.Literal) {
	if !w.copied {
		in := *w.In
		in.Ins = append([]ops.Operand(nil), w.In.Ins...)
		w.In, w.copied = &in, true
	}
	w.In.Ins[i] = ops.Operand{Lit: lit}
	if lit != nil {
		w.Types[i] = lit.Type
	}
}

// SettleLiterals makes memory of literal tensors, so that only scalars remain
// literal. The instruction is copied where it changes.
func (w *Work) SettleLiterals() {
	for i := range w.In.Ins {
		lit := w.In.Ins[i].Lit
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
		w.Replace(i, nil)
		w.Args[i] = m
	}
}
