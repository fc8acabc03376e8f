package explain

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
	"nxvk/synth/graph/notation"
)

// Part is a part of a program that is carried out at once: a fusion, or an
// instruction.
type Part struct {
	Block        string   // the regions around it, as "%7 body"; empty for the program itself
	Place        Place    // who carries it out
	Instructions []string // as text, with ids of the node's own
	Why          []string // it ends where it does, and by what it was joined
	Kernels      []Kernel
	Measured     float64      // seconds; 0 where it was not measured
	Waits        queue.Counts // how often runs have had to wait there

	Held   int64 // bytes of values that the program has made and needs, with those of this part and its temporary memory
	Params int64 // bytes of parameters of the program that are needed by this part or later
}

// Place is who carries out a part of a program.
type Place string

// The places. Parts that the device carries out are done on the host where their
// operands are there, and so small that this is sooner done.
const (
	PlaceDevice  Place = "device"
	PlaceHost    Place = "host"    // the device cannot, is a processor that takes longer, or there is none
	PlaceView    Place = "view"    // the result is the memory of the operand
	PlaceUpload  Place = "upload"  // a tensor that is part of the program
	PlaceControl Place = "control" // a loop, a branch, a barrier, or a message to the client
)

// Kernel is a dispatch and what it is estimated to take.
type Kernel struct {
	Name    string
	Grid    [3]uint32
	Bytes   int64
	Flops   int64
	Seconds float64
}

// Rules are what decides how programs are carried out.
type Rules struct {
	Device bool // there is one
	Fuses  bool // its programs are cut into fusions
	Target *synth.Target
	Other  bool // the target is not the device that the program was made for
	Eval   graph.Eval
	Cost   func(*synth.Step) float64 // seconds

	// Stead reports whether the host carries out a plan of instructions in the device's stead. It may
	// be nil.
	Stead func([]kernels.Instr, *synth.Plan) bool
}

// whyHost is why the host computes what a processor could.
const whyHost = "the host computes it sooner than this device, on the same processors"

// explainer makes the plans of a program again.
type explainer struct {
	*program.Partitioner
	rules Rules
	parts []Part
	plans []measurable // of the parts
	waits map[ops.ID]queue.Counts

	params []ops.Result // of the program
	memory memory
}

// Prepare returns a function that explains a program, for the parameters that are literals in
// runs so far. It may be called from any goroutine.
func Prepare(p *program.Program, r Rules) func() (*Explanation, error) {
	target := *r.Target
	literal, waits := []byte(p.Usual()), maps.Clone(p.Waits)
	return func() (*Explanation, error) {
		if r.Other {
			p, waits = program.New(p.Region, nil, r.Eval, &target), nil
		}
		x := &explainer{rules: r, waits: waits, Partitioner: program.NewPartitioner(&target, r.Eval, p, literal)}
		x.Why = make(map[ops.ID][]string)
		if err := x.program(p); err != nil {
			return nil, err
		}
		return &Explanation{x.parts, x.plans}, nil
	}
}

// Explanation is what a program does, part by part.
type Explanation struct {
	Parts []Part
	plans []measurable
}

func (x *explainer) program(p *program.Program) (err error) {
	x.params = p.Params()
	x.memory.begin(x.params)
	body := p.Body
	if x.rules.Fuses {
		if body, err = x.Partitioner.Partition(body); err != nil {
			return fmt.Errorf("cut the program into fusions: %w", err)
		}
	}
	return x.block(body, "")
}

// block explains the steps of a block that is called name.
func (x *explainer) block(b *program.Block, name string) error {
	for _, p := range b.Params {
		x.Types[p.ID] = p.Type
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		for _, o := range s.In.Outs {
			x.Types[o.ID] = o.Type
		}
		part, plan, err := x.step(s)
		if err != nil {
			return err
		}
		part.Block = name
		x.remember(&part, s, plan)
		x.parts = append(x.parts, part)
		if err := x.regions(s, name); err != nil {
			return err
		}
	}
	return nil
}

// regions explains the regions of a step.
func (x *explainer) regions(s *program.Step, around string) error {
	next := 0
	for _, a := range s.In.Op.Info().Attrs {
		if a.Kind != ops.Block || next == len(s.Regions) {
			continue
		}
		name := a.Name
		if len(s.In.Outs) > 0 {
			name = fmt.Sprintf("%%%d %s", s.In.Outs[0].ID, a.Name)
		}
		if around != "" {
			name = around + ", " + name
		}
		leave := x.memory.enter(s.Regions[next].Params)
		if err := x.block(s.Regions[next], name); err != nil {
			return err
		}
		leave()
		next++
	}
	return nil
}

// remember follows the values of a step.
func (x *explainer) remember(part *Part, s *program.Step, plan *synth.Plan) {
	shares, temps := map[int]int{}, []int64(nil)
	switch {
	case s.In.Op == ops.OptimizationBarrier:
		for i := range s.In.Outs {
			shares[i] = i
		}
	case plan == nil:
	case plan.Alias >= 0:
		shares[0] = plan.Alias
	default:
		for _, i := range x.updates(s, plan) {
			shares[plan.InPlace[i].Result] = plan.InPlace[i].Operand
		}
		temps = plan.Temps
	}
	x.memory.step(part, s, shares, temps)
}

// step explains a step, and returns its plan where a device carries it out.
func (x *explainer) step(s *program.Step) (Part, *synth.Plan, error) {
	part := Part{Place: x.place(s), Why: x.reasons(s)}
	x.plans = append(x.plans, measurable{})
	list := []wire.Instr{s.In}
	if s.Fusion != nil {
		list = s.Fusion.Body
	}
	for i := range list {
		part.Instructions = append(part.Instructions, notation.Line(&list[i].Instr))
		if len(list[i].Outs) > 0 {
			for why, n := range x.waits[list[i].Outs[0].ID] {
				part.Waits[why] += n
			}
		}
	}
	if part.Place != PlaceDevice {
		return part, nil, nil
	}
	plan, err := x.plan(s)
	switch {
	case errors.Is(err, synth.ErrUnsupported):
		part.Place, part.Why = PlaceHost, append(slices.Clone(part.Why), fmt.Sprintf("the device cannot: %v", err))
		plan = nil
	case err != nil:
		return part, nil, fmt.Errorf("plan %s: %w", strings.Join(part.Instructions, "; "), err)
	case plan.Alias >= 0:
		part.Place = PlaceView
	case x.rules.Stead != nil && x.rules.Stead(x.typed(list), plan):
		part.Place, part.Why = PlaceHost, append(slices.Clone(part.Why), whyHost)
	default:
		carried := plan
		if updates := x.updates(s, plan); len(updates) > 0 {
			carried, part.Why = plan.Without(func(i int) bool { return slices.Contains(updates, i) }), slices.Clone(part.Why)
			for _, i := range updates {
				part.Why = append(part.Why, fmt.Sprintf("updates %%%d in place, unless something else needs it", s.In.Ins[plan.InPlace[i].Operand].ID))
			}
		}
		part.Kernels = x.kernels(carried)
		x.plans[len(x.plans)-1] = measurable{operands: x.operands(s), results: s.In.Outs,
			Plan: &kernels.Plan{Plan: carried, Kernels: make([]*kernels.Kernel, len(carried.Steps))}}
	}
	return part, plan, nil
}

// updates lists the updates of a plan that a step makes in place: nothing in the program needs the operand after the
// step, and it is no parameter of the program, which the session may hold.
func (x *explainer) updates(s *program.Step, plan *synth.Plan) (list []int) {
	for k, u := range plan.InPlace {
		i := u.Operand
		id := s.In.Ins[i].ID
		same := func(o ops.Operand) bool { return o.Lit == nil && o.ID == id }
		if !slices.Contains(s.Last, id) || slices.ContainsFunc(slices.Delete(slices.Clone(s.In.Ins), i, i+1), same) ||
			slices.ContainsFunc(x.params, func(p ops.Result) bool { return p.ID == id }) {
			continue
		}
		list = append(list, k)
	}
	return list
}

// typed lists instructions with the types of their operands.
func (x *explainer) typed(list []wire.Instr) []kernels.Instr {
	out := make([]kernels.Instr, len(list))
	inner := make(map[ops.ID]ops.Type)
	for i := range list {
		in := &list[i].Instr
		out[i] = kernels.Instr{Instr: in, Types: make([]ops.Type, len(in.Ins))}
		for k, o := range in.Ins {
			t, ok := inner[o.ID]
			switch {
			case o.Lit != nil:
				t = o.Lit.Type
			case !ok:
				t = x.Types[o.ID]
			}
			out[i].Types[k] = t
		}
		for _, o := range in.Outs {
			inner[o.ID] = o.Type
		}
	}
	return out
}

// place is who carries out a step, as far as its operation says.
func (x *explainer) place(s *program.Step) Place {
	switch {
	case program.IsControl(s.In.Op):
		return PlaceControl
	case !x.rules.Device:
		return PlaceHost
	case s.In.Op == ops.Tensor:
		return PlaceUpload
	}
	return PlaceDevice
}

// reasons say why a step is a part.
func (x *explainer) reasons(s *program.Step) []string {
	switch {
	case program.IsControl(s.In.Op):
		return nil
	case !x.rules.Device:
		return []string{program.WhyHost}
	case !x.rules.Fuses:
		return []string{program.WhyAlone}
	case len(s.In.Outs) == 0:
		return nil
	}
	return x.Why[s.In.Outs[0].ID]
}

// plan is how the device carries out a step.
func (x *explainer) plan(s *program.Step) (*synth.Plan, error) {
	if s.Fusion != nil {
		return s.Fusion.Lower(x.Target)
	}
	return x.single(&s.In.Instr)
}

// operands lists the types of the operands of a step's plan.
func (x *explainer) operands(s *program.Step) []ops.Type {
	types := make([]ops.Type, len(s.In.Ins))
	for i, o := range s.In.Ins {
		if types[i] = x.Types[o.ID]; o.Lit != nil {
			types[i] = o.Lit.Type
		}
	}
	return types
}

// single plans an instruction as it comes to the device: with scalar literals,
// and tensors in memory.
func (x *explainer) single(in *ops.Instr) (*synth.Plan, error) {
	c, types := *in, make([]ops.Type, len(in.Ins))
	c.Ins = slices.Clone(in.Ins)
	for i, o := range c.Ins {
		switch {
		case o.Lit != nil && len(o.Lit.Type.Shape) > 0:
			types[i], c.Ins[i] = o.Lit.Type, ops.Operand{}
		case o.Lit != nil:
			types[i] = o.Lit.Type
		case x.StandIn[o.ID] != nil:
			c.Ins[i], types[i] = ops.Operand{Lit: x.StandIn[o.ID]}, x.Types[o.ID]
		default:
			types[i] = x.Types[o.ID]
		}
	}
	return synth.Lower(&c, types, x.Target)
}

func (x *explainer) kernels(p *synth.Plan) []Kernel {
	var list []Kernel
	for i := range p.Steps {
		s := &p.Steps[i]
		list = append(list, Kernel{Name: s.Kernel.Name, Grid: s.Grid, Bytes: s.Bytes, Flops: s.Flops, Seconds: x.rules.Cost(s)})
	}
	return list
}
