package synth

import (
	"errors"
	"fmt"
	"sync"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth/gemm"
)

// lowerDot plans products summed over paired axes as one batched product of
// matrices, C[b,m,n] = Σ A[b,m,k]·B[b,k,n]: m are the free axes of the left
// operand, n those of the right one, k the contracted ones. Operands of other
// types are converted first, operands whose axes do not collapse to m and k
// are transposed first; a narrow result is summed in its wide type.
// The kernels that store the results apply after to them, where it is not nil and
// they have room for it.
func lowerDot(in *ops.Instr, types []ops.Type, t *Target, after storing) (*Plan, error) {
	out := in.Outs[0].Type
	wide := out.DType.Wide()
	if err := dotSupported(wide, types, t); err != nil {
		return nil, err
	}
	if wide.IsComplex() {
		return lowerComplexDot(in, types, t)
	}
	d := &dot{plan: &Plan{Alias: -1}, t: t, wide: wide, in: in, after: after}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	a, err := d.operand(in, types, 0, left)
	if err != nil {
		return nil, err
	}
	b, err := d.operand(in, types, 1, right)
	if err != nil {
		return nil, err
	}
	p := gemm.Problem{Type: wide, M: left.free(), N: right.free(), K: k, Batch: left.batches()}
	p.A = gemm.Strides{Row: a.free, Col: a.contract, Batch: a.batch}
	p.B = gemm.Strides{Row: b.contract, Col: b.free, Batch: b.batch}
	plan, err := gemm.New(p, t.gemm())
	return d.plan, d.result(plan, err, a.ref, b.ref)
}

func dotSupported(wide ops.DType, types []ops.Type, t *Target) error {
	switch {
	case !wide.IsComplex() && (types[0].DType.IsComplex() || types[1].DType.IsComplex()):
		return unsupported("products of complex numbers that are %v", wide)
	case wide.Real() == ops.F64 && !t.Float64:
		return unsupported("no f64")
	case wide.Size() == 8 && wide.IsInteger() && !t.Int64:
		return unsupported("no 64-bit integers")
	}
	return nil
}

// dot gathers the steps of one plan.
type dot struct {
	plan  *Plan
	t     *Target
	wide  ops.DType
	in    *ops.Instr // what the plan carries out
	after storing    // what is done to its results; nil where there is nothing
}

// storing is what a kernel does to the results of a product instead of storing them
// as they are.
type storing interface {
	// carry makes s, which carries out step i of a product, one that does it. It
	// reports false where the kernel has no room.
	carry(product *gemm.Plan, i int, s *Step, d *dot) (bool, error)
	// carried is told whether all steps that store results do it.
	carried(all bool)
}

func (d *dot) temp(bytes int) Ref {
	d.plan.Temps = append(d.plan.Temps, int64(bytes))
	return Ref{Temp, len(d.plan.Temps) - 1}
}

// matrix is an operand as a batch of matrices of the wide type.
type matrix struct {
	ref                   Ref
	free, contract, batch int // strides in elements
}

// operand makes a matrix of operand i, by steps before the product if need be.
func (d *dot) operand(in *ops.Instr, types []ops.Type, i int, ax axes) (matrix, error) {
	ref := Ref{Operand, i}
	typ := types[i]
	if lit := in.Ins[i].Lit; lit != nil || typ.DType != d.wide {
		to := d.temp(typ.Shape.Size() * d.wide.Size())
		if err := d.convert(typ, d.wide, ref, lit, to); err != nil {
			return matrix{}, err
		}
		ref, typ.DType = to, d.wide
	}
	m, ok := ax.collapse()
	if !ok {
		to := d.temp(typ.Bytes())
		if err := d.transpose(typ, ax.order(), ref, to); err != nil {
			return matrix{}, err
		}
		ref, m = to, ax.ordered()
	}
	m.ref = ref
	return m, nil
}

// convert appends a conversion; lit is the operand where it is a literal.
func (d *dot) convert(from ops.Type, to ops.DType, src Ref, lit *ops.Literal, dst Ref) error {
	return d.sub(lowerAsType, &ops.Instr{
		Op: ops.AsType, Ins: []ops.Operand{{Lit: lit}},
		Outs: []ops.Result{{Type: ops.Type{DType: to, Shape: from.Shape}}},
	}, from, src, dst)
}

func (d *dot) transpose(from ops.Type, order []int, src, dst Ref) error {
	shape := make(ops.Shape, len(order))
	for i, ax := range order {
		shape[i] = from.Shape[ax]
	}
	return d.sub(lowerTranspose, &ops.Instr{
		Op: ops.Transpose, Ins: []ops.Operand{{}}, Attrs: [][]int{order},
		Outs: []ops.Result{{Type: ops.Type{DType: from.DType, Shape: shape}}},
	}, from, src, dst)
}

// sub appends the plan of an instruction of one operand, from src to dst.
func (d *dot) sub(lower lowering, in *ops.Instr, from ops.Type, src, dst Ref) error {
	p, err := lower(in, []ops.Type{from}, d.t)
	if err != nil {
		return err
	}
	if p.Alias >= 0 {
		panic("BUG: a step before a product that does nothing")
	}
	d.include(p, []Ref{src}, dst)
	return nil
}

// include appends a plan whose operands and result are elsewhere. Literals stay
// those of the instruction.
func (d *dot) include(p *Plan, ins []Ref, out Ref) {
	first := len(d.plan.Temps)
	d.plan.Temps = append(d.plan.Temps, p.Temps...)
	for _, s := range p.Steps {
		args := make([]Arg, len(s.Args))
		for i, a := range s.Args {
			switch a.Ref.Kind {
			case Operand:
				a.Ref = ins[a.Ref.Index]
			case Result:
				a.Ref = out
			case Temp:
				a.Ref.Index += first
			}
			args[i] = a
		}
		lits := make([]Lit, len(s.Lits))
		for i, l := range s.Lits {
			l.Operand = ins[l.Operand].Index
			lits[i] = l
		}
		s.Args, s.Lits = args, lits
		d.plan.Steps = append(d.plan.Steps, s)
	}
}

// product appends the steps of a product of matrices.
func (d *dot) product(p gemm.Problem, a, b, c Ref) error {
	plan, err := gemm.New(p, d.t.gemm())
	return d.steps(plan, err, a, b, c)
}

// result appends the steps of a planned product whose results are those of the
// instruction, or what is made of these at once.
func (d *dot) result(plan *gemm.Plan, err error, a, b Ref) error {
	out, after := d.in.Outs[0].Type, d.after
	if err != nil {
		return d.steps(nil, err, a, b, Ref{})
	}
	if after != nil {
		taken, err := d.stepsThen(plan, a, b, after)
		if after.carried(taken); taken || err != nil {
			return err
		}
	}
	if d.wide == out.DType {
		return d.steps(plan, nil, a, b, Ref{Result, 0})
	}
	sums := d.temp(out.Size() * d.wide.Size())
	if err := d.steps(plan, nil, a, b, sums); err != nil {
		return err
	}
	return d.convert(ops.Type{DType: d.wide, Shape: out.Shape}, out.DType, sums, nil, Ref{Result, 0})
}

// stepsThen appends the steps of a planned product with an epilogue. Where the
// kernels have no room for that it reports false and appends nothing.
func (d *dot) stepsThen(plan *gemm.Plan, a, b Ref, after storing) (bool, error) {
	steps, temps := len(d.plan.Steps), len(d.plan.Temps)
	if err := d.steps(plan, nil, a, b, Ref{Result, 0}); err != nil {
		return false, err
	}
	for i := range plan.Steps {
		if plan.Steps[i].Out != gemm.C {
			continue
		}
		if ok, err := after.carry(plan, i, &d.plan.Steps[steps+i], d); !ok || err != nil {
			d.plan.Steps, d.plan.Temps = d.plan.Steps[:steps], d.plan.Temps[:temps]
			return false, err
		}
	}
	return true, nil
}

// steps appends the steps of a planned product.
func (d *dot) steps(plan *gemm.Plan, err error, a, b, c Ref) error {
	return d.stepsOf(plan, err, Arg{Ref: a}, Arg{Ref: b}, c)
}

// stepsOf appends those of operands that may begin within buffers.
func (d *dot) stepsOf(plan *gemm.Plan, err error, a, b Arg, c Ref) error {
	if errors.Is(err, gemm.ErrUnbound) {
		return fmt.Errorf("%w: %w", errReach, err)
	}
	if errors.Is(err, gemm.ErrTooLarge) {
		return unsupported("%v", err)
	}
	if err != nil {
		return err
	}
	args := [...]Arg{gemm.A: a, gemm.B: b, gemm.C: {Ref: c}, gemm.Partial: {}}
	if plan.Partial > 0 {
		args[gemm.Partial].Ref = d.temp(int(plan.Partial))
	}
	arg := func(b gemm.Buffer, access Access) Arg {
		a := args[b]
		a.Access = access
		return a
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		k, err := d.t.shader(&s.Kernel, len(s.Push))
		if err != nil {
			return err
		}
		d.plan.Steps = append(d.plan.Steps, Step{
			Kernel: k,
			Args:   []Arg{arg(s.In[0], Read), arg(s.In[1], Read), arg(s.Out, Write)},
			Push:   append(make([]byte, k.PushBytes-len(s.Push)), s.Push...),
			Grid:   s.Grid,
			Bytes:  s.Bytes,
			Flops:  s.Flops,
		})
	}
	return nil
}

// gemm describes the device to package gemm.
func (t *Target) gemm() *gemm.Target {
	g := &gemm.Target{CPU: t.CPU, Addresses: t.Addresses, SharedMemory: t.SharedMemory,
		MaxInvocations: t.MaxInvocations, Subgroup: t.SubgroupSize, MaxGroups: t.MaxGroups, MaxBinding: t.MaxBinding, MaxPush: t.MaxPush}
	for i, n := range g.MaxGroups {
		if n == 0 {
			g.MaxGroups[i] = 65535
		}
	}
	return g
}

// handWritten holds the kernels of package shaders by name. There are as many
// as there are variants and specialisations that gemm chooses from.
var handWritten sync.Map

// handName names a hand-written kernel with its specialisation.
func handName(g *gemm.Kernel) string {
	return fmt.Sprint(g.Shader, " ", shaders.Hash(g.Shader), " ", g.Spec)
}

// shader returns a hand-written kernel of three buffers.
func (t *Target) shader(g *gemm.Kernel, push int) (*Kernel, error) {
	name := handName(g)
	if k, ok := handWritten.Load(name); ok {
		return k.(*Kernel), nil
	}
	code, err := shaders.Code(g.Shader)
	if err != nil {
		return nil, err
	}
	if t.Addresses {
		push += 3 * 8
	}
	k, _ := handWritten.LoadOrStore(name, &Kernel{Name: name, Code: code, Buffers: 3, PushBytes: push,
		Addresses: t.Addresses, Spec: g.Spec, Local: g.Local, host: &hosted{product: g.OnHost()}})
	return k.(*Kernel), nil
}
