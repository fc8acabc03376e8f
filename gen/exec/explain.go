package exec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
)

// Explained is a part of a program that is carried out at once: a fusion, or an
// instruction.
type Explained struct {
	Block        string   // the regions around it, as "%7 body"; empty for the program itself
	Place        Place    // who carries it out
	Instructions []string // as text, with ids of the node's own
	Why          []string // it ends where it does, and by what it was joined
	Kernels      []ExplainedKernel
	Measured     float64      // seconds; 0 where it was not measured
	Waits        queue.Counts // how often runs have had to wait there
}

// Place is who carries out a part of a program.
type Place string

// The places. Parts that the device carries out are done on the host where their
// operands are there, and so small that this is sooner done.
const (
	PlaceDevice  Place = "device"
	PlaceHost    Place = "host"    // the device cannot, or there is none
	PlaceView    Place = "view"    // the result is the memory of the operand
	PlaceUpload  Place = "upload"  // a tensor that is part of the program
	PlaceControl Place = "control" // a loop, a branch, or a message to the client
)

// ExplainedKernel is a dispatch and what it is estimated to take.
type ExplainedKernel struct {
	Name    string
	Grid    [3]uint32
	Bytes   int64
	Flops   int64
	Seconds float64
}

// Explain tells how a program of the session is carried out once it has been seen
// before, in the order in which it runs. Loops are told once. With measure the
// parts that the device carries out are measured.
func (e *Executor) Explain(l *Queue, key string, measure bool, done func([]Explained, error)) {
	e.Do(l, func(l *Queue) queue.Wait {
		p, err := e.Program(l, key)
		if err != nil {
			done(nil, err)
			return 0
		}
		x := e.explainer(p)
		var parts []Explained
		e.Aside(l, workExplain, func(*sched.Worker) (err error) {
			parts, err = x.program(p)
			return err
		}, func(err error) {
			if err != nil || !measure || e.dev == nil {
				done(parts, err)
				return
			}
			e.profile(parts, x.plans, done)
		})
		return 0
	})
}

// explainer makes the plans of a program again, apart from the goroutine of the
// Executor.
type explainer struct {
	*partitioner
	device bool // there is one
	units  bool // its programs are cut into fusions
	cost   func(*synth.Step) float64
	parts  []Explained
	plans  []measurable // of the parts
	waits  map[ops.ID]queue.Counts
}

// explainer is one for the parameters that are literals in runs so far.
func (e *Executor) explainer(p *Program) *explainer {
	target := *e.target
	x := &explainer{device: e.dev != nil, units: e.fuses(), cost: e.seconds, waits: maps.Clone(p.waits),
		partitioner: newPartitioner(&target, e.specializer.Evaluator(), p, []byte(p.usual()))}
	x.why = make(map[ops.ID][]string)
	return x
}

// usual says which parameters are literals in runs of the program: of several
// forms that have been seen again, the one with the fewest.
func (p *Program) usual() string {
	var forms []string
	for form, t := range p.specializations {
		if t.seen > 1 {
			forms = append(forms, form)
		}
	}
	if len(forms) == 0 {
		return ""
	}
	return slices.Min(forms)
}

func (x *explainer) program(p *Program) (parts []Explained, err error) {
	body := p.body
	if x.units {
		if body, err = x.partitioner.program(body); err != nil {
			return nil, fmt.Errorf("cut the program into units: %w", err)
		}
	}
	if err := x.block(body, ""); err != nil {
		return nil, err
	}
	return x.parts, nil
}

// block explains the steps of a block that is called name.
func (x *explainer) block(b *block, name string) error {
	for _, p := range b.params {
		x.types[p.ID] = p.Type
	}
	for i := range b.steps {
		s := &b.steps[i]
		for _, o := range s.in.Outs {
			x.types[o.ID] = o.Type
		}
		part, err := x.step(s)
		if err != nil {
			return err
		}
		part.Block = name
		x.parts = append(x.parts, part)
		if err := x.regions(s, name); err != nil {
			return err
		}
	}
	return nil
}

// regions explains the regions of a step.
func (x *explainer) regions(s *step, around string) error {
	next := 0
	for _, a := range s.in.Op.Info().Attrs {
		if a.Kind != ops.Block || next == len(s.regions) {
			continue
		}
		name := a.Name
		if len(s.in.Outs) > 0 {
			name = fmt.Sprintf("%%%d %s", s.in.Outs[0].ID, a.Name)
		}
		if around != "" {
			name = around + ", " + name
		}
		if err := x.block(s.regions[next], name); err != nil {
			return err
		}
		next++
	}
	return nil
}

func (x *explainer) step(s *step) (Explained, error) {
	part := Explained{Place: x.place(s), Why: x.reasons(s)}
	x.plans = append(x.plans, measurable{})
	list := []wire.Instr{s.in}
	if s.fusion != nil {
		list = s.fusion.body
	}
	for i := range list {
		part.Instructions = append(part.Instructions, graph.Line(&list[i].Instr))
		if len(list[i].Outs) > 0 {
			for why, n := range x.waits[list[i].Outs[0].ID] {
				part.Waits[why] += n
			}
		}
	}
	if part.Place != PlaceDevice {
		return part, nil
	}
	plan, err := x.plan(s)
	switch {
	case errors.Is(err, synth.ErrUnsupported):
		part.Place, part.Why = PlaceHost, append(slices.Clone(part.Why), fmt.Sprintf("the device cannot: %v", err))
	case err != nil:
		return part, fmt.Errorf("plan %s: %w", strings.Join(part.Instructions, "; "), err)
	case plan.Alias >= 0:
		part.Place = PlaceView
	default:
		part.Kernels = x.kernels(plan)
		x.plans[len(x.plans)-1] = measurable{operands: x.operands(s), results: s.in.Outs,
			Plan: &kernels.Plan{Plan: plan, Kernels: make([]*kernels.Kernel, len(plan.Steps))}}
	}
	return part, nil
}

// place is who carries out a step, as far as its operation says.
func (x *explainer) place(s *step) Place {
	switch {
	case isControl(s.in.Op):
		return PlaceControl
	case !x.device:
		return PlaceHost
	case s.in.Op == ops.Tensor:
		return PlaceUpload
	}
	return PlaceDevice
}

// reasons say why a step is a part.
func (x *explainer) reasons(s *step) []string {
	switch {
	case isControl(s.in.Op):
		return nil
	case !x.device:
		return []string{whyHost}
	case !x.units:
		return []string{whyAlone}
	case len(s.in.Outs) == 0:
		return nil
	}
	return x.why[s.in.Outs[0].ID]
}

// plan is how the device carries out a step.
func (x *explainer) plan(s *step) (*synth.Plan, error) {
	if s.fusion != nil {
		return lowerFusion(&s.fusion.unit, s.fusion.types, x.target)
	}
	return x.single(&s.in.Instr)
}

// operands lists the types of the operands of a step's plan.
func (x *explainer) operands(s *step) []ops.Type {
	types := make([]ops.Type, len(s.in.Ins))
	for i, o := range s.in.Ins {
		if types[i] = x.types[o.ID]; o.Lit != nil {
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
		case x.stand[o.ID] != nil:
			c.Ins[i], types[i] = ops.Operand{Lit: x.stand[o.ID]}, x.types[o.ID]
		default:
			types[i] = x.types[o.ID]
		}
	}
	return synth.Lower(&c, types, x.target)
}

func (x *explainer) kernels(p *synth.Plan) []ExplainedKernel {
	var list []ExplainedKernel
	for i := range p.Steps {
		s := &p.Steps[i]
		list = append(list, ExplainedKernel{Name: s.Kernel.Name, Grid: s.Grid, Bytes: s.Bytes, Flops: s.Flops, Seconds: x.cost(s)})
	}
	return list
}
