package program

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// TypeOf is the type of an operand of an instruction of a fusion.
func (f *Fusion) TypeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	for i := range f.Body {
		for _, r := range f.Body[i].Outs {
			if r.ID == o.ID {
				return r.Type
			}
		}
	}
	return f.types[o.ID]
}

// Needed lists what each result of a fusion is computed from.
func (f *Fusion) Needed() []synth.Needs {
	if f.needs == nil {
		f.needs = f.Fused.Needs()
	}
	return f.needs
}

// Fusion is a step that carries out several instructions.
type Fusion struct {
	Fused synth.Fusion
	key   string
	types map[ops.ID]ops.Type
	Body  []wire.Instr // the instructions, one by one
	inner []ops.ID     // slots that they make and nobody else needs
	ends  [][]ops.ID   // for each instruction, those that end with it
	Plan  *kernels.Plan
	needs []synth.Needs // see needed

	divided, joined *bool  // see Divided and Joined
	apart           *apart // see Apart
}

// apart is what it takes to carry out the instructions of a fusion one by one.
type apart struct {
	cost  float64
	bytes int64
}

// Apart tells what the instructions of the fusion cost one by one, by an estimate of each, and how many bytes their
// results have. It asks once.
func (f *Fusion) Apart(costOf func(*ops.Instr, []ops.Type) int) (cost float64, bytes int64) {
	if f.apart == nil {
		f.apart = &apart{}
		for _, in := range f.instrs() {
			f.apart.cost += float64(costOf(in.Instr, in.Types))
			for _, r := range in.Outs {
				f.apart.bytes += int64(r.Type.Bytes())
			}
		}
	}
	return f.apart.cost, f.apart.bytes
}

// instrs are the instructions of the fusion with the types of their operands.
func (f *Fusion) instrs() []kernels.Instr {
	body := make([]kernels.Instr, len(f.Body))
	for i := range f.Body {
		in := &f.Body[i]
		body[i] = kernels.Instr{Instr: &in.Instr, Types: make([]ops.Type, len(in.Ins))}
		for k, o := range in.Ins {
			body[i].Types[k] = f.TypeOf(o)
		}
	}
	return body
}

// Divided tells what divides says of the instructions of the fusion. It asks once.
func (f *Fusion) Divided(divides func([]kernels.Instr) bool) bool {
	return f.judged(&f.divided, divides)
}

// Joined tells what joins says of the instructions of the fusion: whether the host interprets one kernel
// for all of them. It asks once.
func (f *Fusion) Joined(joins func([]kernels.Instr) bool) bool { return f.judged(&f.joined, joins) }

// judged keeps in verdict what judge says of the instructions of the fusion, with the types of their operands.
func (f *Fusion) judged(verdict **bool, judge func([]kernels.Instr) bool) bool {
	if *verdict == nil {
		yes := judge(f.instrs())
		*verdict = &yes
	}
	return **verdict
}

// mostNames bounds the operations by which a fusion is called.
const mostNames = 6

// NameOf is what errors call a fusion: its operations in order, as add+multiply+sum.
func NameOf(body []wire.Instr) string {
	var names []string
	for i := range body {
		if n := len(names); n == 0 || names[n-1] != body[i].Name {
			names = append(names, body[i].Name)
		}
	}
	if len(names) > mostNames {
		names = append(names[:mostNames], "…")
	}
	return strings.Join(names, "+")
}

// innerOf lists the values of a fusion that end with it.
func innerOf(u *synth.Fusion) (ids []ops.ID) {
	outs := make(map[ops.ID]bool)
	for _, o := range u.Outs {
		outs[o.ID] = true
	}
	for i := range u.Body {
		for _, o := range u.Body[i].Outs {
			if !outs[o.ID] {
				ids = append(ids, o.ID)
			}
		}
	}
	return ids
}

// fusionKey is the signature of a fusion: what its plan depends on.
func fusionKey(u *synth.Fusion, types map[ops.ID]ops.Type) string {
	names := make(map[ops.ID]uint64)
	key := []byte("fusion")
	for _, id := range u.Ins {
		names[id] = uint64(len(names))
		key = kernels.AppendType(key, types[id])
	}
	lits := make(map[*ops.Literal]uint64)
	for _, l := range u.Lits {
		lits[l] = uint64(len(lits))
		key = kernels.AppendType(key, l.Type)
	}
	for i := range u.Body {
		in := &u.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		for k, o := range in.Ins {
			if o.Lit != nil {
				key = binary.AppendUvarint(append(key, 1), lits[o.Lit])
				if n, ok := synth.ConstantOperand(in, k); ok {
					key = binary.AppendVarint(key, n)
				}
			} else {
				key = binary.AppendUvarint(append(key, 0), names[o.ID])
			}
		}
		for _, o := range in.Outs {
			names[o.ID] = uint64(len(names))
			key = kernels.AppendType(key, o.Type)
		}
		key = kernels.AppendAttrs(key, in.Attrs)
		for _, r := range in.Regions {
			key = append(key, kernels.RegionKey(r)...)
		}
	}
	for _, o := range u.Outs {
		key = binary.AppendUvarint(key, names[o.ID])
	}
	for _, id := range u.Whole {
		key = binary.AppendUvarint(append(key, 'w'), names[id])
	}
	stages := func(u *synth.Fusion) {
		for i := range u.Stages {
			key = append(key, 's')
			for _, o := range u.Stages[i].Outs {
				key = binary.AppendUvarint(key, names[o.ID])
			}
		}
	}
	stages(u)
	for i := range u.Abreast {
		key = append(key, 'a')
		for _, o := range u.Abreast[i].Outs {
			key = binary.AppendUvarint(key, names[o.ID])
		}
		stages(&u.Abreast[i])
	}
	return string(key)
}

// Lower plans a fusion. It may be called from any goroutine.
func (f *Fusion) Lower(t *synth.Target) (p *synth.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return synth.LowerFusion(&f.Fused, func(id ops.ID) ops.Type { return f.types[id] }, t)
}

// Endings lists, for each instruction, the inner slots that none after it needs.
func (f *Fusion) Endings() [][]ops.ID {
	if f.ends == nil {
		f.ends = f.endings()
	}
	return f.ends
}

// NeedsAfter reports whether an instruction after number i reads a slot.
func (f *Fusion) NeedsAfter(i int, id ops.ID) bool {
	return slices.ContainsFunc(f.Body[i+1:], func(in wire.Instr) bool {
		return slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && o.ID == id })
	})
}

func (f *Fusion) endings() [][]ops.ID {
	inner := make(map[ops.ID]bool, len(f.inner))
	for _, id := range f.inner {
		inner[id] = true
	}
	ends := make([][]ops.ID, len(f.Body))
	end := func(i int, id ops.ID) {
		if inner[id] {
			delete(inner, id)
			ends[i] = append(ends[i], id)
		}
	}
	for i := len(f.Body) - 1; i >= 0; i-- {
		for _, o := range f.Body[i].Ins {
			end(i, o.ID)
		}
		for _, o := range f.Body[i].Outs {
			end(i, o.ID)
		}
	}
	return ends
}
