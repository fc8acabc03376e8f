package dot

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
)

// Append adds the steps of a job to the plan.
func (d *Builder) Append(j *elementwise.Job) error {
	p, err := codegen.NewPlan(d.Target, nil, j.Programs(d.Target)...)
	if err != nil {
		return err
	}
	d.Plan.Steps = append(d.Plan.Steps, p.Steps...)
	return nil
}

// AddPrograms appends programs.
func (d *Builder) AddPrograms(programs ...*codegen.Program) error {
	for _, p := range programs {
		s, err := codegen.NewStep(d.Target, p)
		if err != nil {
			return err
		}
		d.Plan.Steps = append(d.Plan.Steps, s)
	}
	return nil
}

// Lower plans products summed over paired axes as one batched product of
// matrices, C[b,m,n] = Σ A[b,m,k]·B[b,k,n]: m are the free axes of the left
// operand, n those of the right one, k the contracted ones. Operands of other
// types are converted first, operands whose axes do not collapse to m and k
// are transposed first; a narrow result is summed in its wide type.
// The kernels that store the results apply after to them, where it is not nil and
// they have room for it.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target, after Epilogue) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	wide := out.DType.Wide()
	if err := Supported(wide, types, t); err != nil {
		return nil, err
	}
	if wide.IsComplex() {
		return lowerComplexDot(in, types, t)
	}
	d := &Builder{Plan: &lowering.Plan{Alias: -1}, Target: t, Wide: wide, Instr: in, After: after}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	d.Operands = matrixOperands(types, wide, left.free(), right.free(), k, left.batches(), t)
	d.Matrix = d.Operands != ops.Invalid
	if !d.Matrix {
		d.fewVectors(types, &left, &right, k)
	}
	a, err := d.AddOperand(in, types, 0, left)
	if err != nil {
		return nil, err
	}
	b, err := d.AddOperand(in, types, 1, right)
	if err != nil {
		return nil, err
	}
	p := problem(wide, &left, &right, k, a, b)
	p.Operands = d.Operands
	if err := d.AlignRows(&p, &a.Ref, &b.Ref); err != nil {
		return nil, err
	}
	plan, err := gemm.New(p, GEMMTarget(t))
	return d.Plan, d.AddResult(plan, err, a.Ref, b.Ref)
}

// OnHardware reports whether matrix hardware carries out a product.
func OnHardware(in *ops.Instr, types []ops.Type, t *lowering.Target) bool {
	wide := in.Outs[0].Type.DType.Wide()
	if wide.IsComplex() || Supported(wide, types, t) != nil {
		return false
	}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	return matrixOperands(types, wide, left.free(), right.free(), k, left.batches(), t) != ops.Invalid
}

// Supported returns an error if the device cannot sum products in a type.
func Supported(wide ops.DType, types []ops.Type, t *lowering.Target) error {
	switch {
	case !wide.IsComplex() && (types[0].DType.IsComplex() || types[1].DType.IsComplex()):
		return lowering.Unsupported("products of complex numbers that are %v", wide)
	case wide.Real() == ops.F64 && !t.Float64:
		return lowering.Unsupported("no f64")
	case wide.Size() == 8 && wide.IsInteger() && !t.Int64:
		return lowering.Unsupported("no 64-bit integers")
	}
	return nil
}

// Builder gathers the steps of one plan.
type Builder struct {
	Plan   *lowering.Plan
	Target *lowering.Target
	Wide   ops.DType
	// Operands is the type of operands that the product loads as they are; they are converted to
	// Wide where it is Invalid.
	Operands ops.DType
	vectors  [2]bool    // operands that are converted all the same: the few vectors beside a matrix
	Matrix   bool       // matrix hardware multiplies them
	Instr    *ops.Instr // what the plan carries out
	After    Epilogue   // what is done to its results; nil where there is nothing
}

// Epilogue is what a kernel does to the results of a product instead of storing them
// as they are.
type Epilogue interface {
	// carry makes s, which carries out step i of a product, one that does it. It
	// reports false where the kernel has no room.
	Apply(product *gemm.Plan, i int, s *lowering.Step, d *Builder) (bool, error)
	// carried is told whether all steps that store results do it.
	Applied(all bool)
}

// NewTemp adds a temporary of so many bytes.
func (d *Builder) NewTemp(bytes int) lowering.Ref {
	d.Plan.Temps = append(d.Plan.Temps, int64(bytes))
	return lowering.Ref{Kind: lowering.Temp, Index: len(d.Plan.Temps) - 1}
}

// matrix is an operand as a batch of matrices of the wide type.
type matrix struct {
	Ref                   lowering.Ref
	Free, Contract, Batch int // strides in elements
}

// AddOperand makes a matrix of operand i, by steps before the product if need be.
func (d *Builder) AddOperand(in *ops.Instr, types []ops.Type, i int, ax Axes) (matrix, error) {
	want := d.want()
	if d.vectors[i] {
		want = d.Wide
	}
	return d.addMatrix(lowering.Ref{Kind: lowering.Operand, Index: i}, types[i], in.Ins[i].Lit, ax, want)
}

// AddTensor makes a matrix of a tensor of the plan, as AddOperand of an operand.
func (d *Builder) AddTensor(ref lowering.Ref, typ ops.Type, ax Axes) (matrix, error) {
	return d.addMatrix(ref, typ, nil, ax, d.want())
}

// want is the type of operands that the product loads.
func (d *Builder) want() ops.DType {
	if d.Operands != ops.Invalid {
		return d.Operands
	}
	return d.Wide
}

func (d *Builder) addMatrix(ref lowering.Ref, typ ops.Type, lit *ops.Literal, ax Axes, want ops.DType) (matrix, error) {
	if lit != nil || typ.DType != want {
		to := d.NewTemp(typ.Shape.Size() * want.Size())
		if err := d.AddConversion(typ, want, ref, lit, to); err != nil {
			return matrix{}, err
		}
		ref, typ.DType = to, want
	}
	m, ok := ax.collapse()
	if !ok || ax.Rows && m.Contract != 1 || d.Matrix && !ax.contiguous(m) {
		to := d.NewTemp(typ.Bytes())
		if err := d.AddTranspose(typ, ax.order(), ref, to); err != nil {
			return matrix{}, err
		}
		ref, m = to, ax.ordered()
	}
	m.Ref = ref
	return m, nil
}

// AddConversion appends a conversion; lit is the operand where it is a literal.
func (d *Builder) AddConversion(from ops.Type, to ops.DType, src lowering.Ref, lit *ops.Literal, dst lowering.Ref) error {
	return d.sub(elementwise.LowerAsType, &ops.Instr{
		Op: ops.AsType, Ins: []ops.Operand{{Lit: lit}},
		Outs: []ops.Result{{Type: ops.Type{DType: to, Shape: from.Shape}}},
	}, from, src, dst)
}

// AddTranspose appends a transposition.
func (d *Builder) AddTranspose(from ops.Type, order []int, src, dst lowering.Ref) error {
	shape := make(ops.Shape, len(order))
	for i, ax := range order {
		shape[i] = from.Shape[ax]
	}
	return d.sub(movement.LowerTranspose, &ops.Instr{
		Op: ops.Transpose, Ins: []ops.Operand{{}}, Attrs: [][]int{order},
		Outs: []ops.Result{{Type: ops.Type{DType: from.DType, Shape: shape}}},
	}, from, src, dst)
}

// AddSlice appends a slice of every stride-th element of each axis from the first on.
func (d *Builder) AddSlice(from ops.Type, lengths, strides []int, src, dst lowering.Ref) error {
	return d.sub(movement.LowerSlice, &ops.Instr{
		Op: ops.Slice, Ins: []ops.Operand{{}}, Attrs: [][]int{make([]int, len(lengths)), lengths, strides},
		Outs: []ops.Result{{Type: ops.Type{DType: from.DType, Shape: lengths}}},
	}, from, src, dst)
}

// sub appends the plan of an instruction of one operand, from src to dst.
func (d *Builder) sub(lower lowering.Func, in *ops.Instr, from ops.Type, src, dst lowering.Ref) error {
	p, err := lower(in, []ops.Type{from}, d.Target)
	if err != nil {
		return err
	}
	if p.Alias >= 0 {
		panic("BUG: a step before a product that does nothing")
	}
	first := len(d.Plan.Steps)
	d.AddPlan(p, []lowering.Ref{src}, dst)
	steps := d.Plan.Steps[first:]
	other := func(s lowering.Step) bool { return len(s.Args) != 2 || s.Args[0].Ref != src || s.Args[1].Ref != dst }
	if in.Ins[0].Lit == nil && !slices.ContainsFunc(steps, other) {
		steps[0].Does = &lowering.Typed{Instr: in, Types: []ops.Type{from}}
		for i := range steps[1:] {
			steps[i+1].Covered = true
		}
	}
	return nil
}

// AddPlan appends a plan whose operands and result are elsewhere. Literals stay
// those of the instruction.
func (d *Builder) AddPlan(p *lowering.Plan, ins []lowering.Ref, out lowering.Ref) {
	d.Plan.Include(p, ins, []lowering.Ref{out})
}

// AddProduct appends the steps of a product of matrices.
func (d *Builder) AddProduct(p gemm.Problem, a, b, c lowering.Ref) error {
	plan, err := gemm.New(p, GEMMTarget(d.Target))
	return d.AddSteps(plan, err, a, b, c)
}

// AddResult appends the steps of a planned product whose results are those of the
// instruction, or what is made of these at once.
func (d *Builder) AddResult(plan *gemm.Plan, err error, a, b lowering.Ref) error {
	out, after := d.Instr.Outs[0].Type, d.After
	if err != nil {
		return d.AddSteps(nil, err, a, b, lowering.Ref{})
	}
	if after != nil {
		taken, err := d.stepsThen(plan, a, b, after)
		if after.Applied(taken); taken || err != nil {
			return err
		}
	}
	if d.Wide == out.DType {
		return d.AddSteps(plan, nil, a, b, lowering.Ref{Kind: lowering.Result, Index: 0})
	}
	sums := d.NewTemp(out.Size() * d.Wide.Size())
	if err := d.AddSteps(plan, nil, a, b, sums); err != nil {
		return err
	}
	return d.AddConversion(ops.Type{DType: d.Wide, Shape: out.Shape}, out.DType, sums, nil, lowering.Ref{Kind: lowering.Result, Index: 0})
}

// stepsThen appends the steps of a planned product with an epilogue. Where the
// kernels have no room for that it reports false and appends nothing.
func (d *Builder) stepsThen(plan *gemm.Plan, a, b lowering.Ref, after Epilogue) (bool, error) {
	steps, temps := len(d.Plan.Steps), len(d.Plan.Temps)
	if err := d.AddSteps(plan, nil, a, b, lowering.Ref{Kind: lowering.Result, Index: 0}); err != nil {
		return false, err
	}
	for i := range plan.Steps {
		if plan.Steps[i].Out != gemm.C {
			continue
		}
		if ok, err := after.Apply(plan, i, &d.Plan.Steps[steps+i], d); !ok || err != nil {
			d.Plan.Steps, d.Plan.Temps = d.Plan.Steps[:steps], d.Plan.Temps[:temps]
			return false, err
		}
	}
	return true, nil
}

// AddSteps appends the steps of a planned product.
func (d *Builder) AddSteps(plan *gemm.Plan, err error, a, b, c lowering.Ref) error {
	return d.AddStepsOf(plan, err, lowering.Arg{Ref: a}, lowering.Arg{Ref: b}, c)
}

// AddStepsOf appends those of operands that may begin within buffers.
func (d *Builder) AddStepsOf(plan *gemm.Plan, err error, a, b lowering.Arg, c lowering.Ref) error {
	if errors.Is(err, gemm.ErrUnbound) {
		return fmt.Errorf("%w: %w", lowering.ErrBindingTooShort, err)
	}
	if errors.Is(err, gemm.ErrTooLarge) {
		return lowering.Unsupported("%v", err)
	}
	if err != nil {
		return err
	}
	args := [...]lowering.Arg{gemm.A: a, gemm.B: b, gemm.C: {Ref: c}, gemm.Partial: {}}
	if plan.Partial > 0 {
		args[gemm.Partial].Ref = d.NewTemp(int(plan.Partial))
	}
	arg := func(b gemm.Buffer, access lowering.Access) lowering.Arg {
		a := args[b]
		a.Access = access
		return a
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		k, err := ShaderKernel(d.Target, &s.Kernel, len(s.Push))
		if err != nil {
			return err
		}
		d.Plan.Steps = append(d.Plan.Steps, lowering.Step{
			Kernel: k,
			Args:   []lowering.Arg{arg(s.In[0], lowering.Read), arg(s.In[1], lowering.Read), arg(s.Out, lowering.Write)},
			Push:   append(make([]byte, k.PushBytes-len(s.Push)), s.Push...),
			Grid:   s.Grid,
			Bytes:  s.Bytes,
			Flops:  s.Flops,
		})
	}
	return nil
}

// GEMMTarget describes the device to package gemm.
func GEMMTarget(t *lowering.Target) *gemm.Target {
	g := &gemm.Target{CPU: t.CPU, Addresses: t.Addresses, SharedMemory: t.SharedMemory,
		MaxInvocations: t.MaxInvocations, Subgroup: t.SubgroupSize, MaxGroups: t.MaxGroups, MaxBinding: t.MaxBinding, MaxPush: t.MaxPush, Matrices: t.Matrices}
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

// ShaderKey names a hand-written kernel with its specialisation.
func ShaderKey(g *gemm.Kernel) string {
	return fmt.Sprint(g.Shader, " ", shaders.Hash(g.Shader), " ", g.Spec)
}

// ShaderKernel returns a hand-written kernel of three buffers.
func ShaderKernel(t *lowering.Target, g *gemm.Kernel, push int) (*lowering.Kernel, error) {
	name := ShaderKey(g)
	key := name
	if g.Starter != nil {
		key += ", at first " + ShaderKey(g.Starter)
	}
	if k, ok := handWritten.Load(key); ok {
		return k.(*lowering.Kernel), nil
	}
	code, err := shaders.Code(g.Shader)
	if err != nil {
		return nil, err
	}
	own := &lowering.Kernel{Name: name, Code: code, Buffers: 3, PushBytes: push, Addresses: t.Addresses, Spec: g.Spec, Local: g.Local,
		SubgroupSize: g.SubgroupSize, Host: &lowering.HostCode{Routine: lowering.Host(g.OnHost()), Rounds: lowering.Twice}}
	if g.Starter != nil {
		if own.Starter, err = ShaderKernel(t, g.Starter, push); err != nil {
			return nil, err
		}
	}
	if t.Addresses {
		own.PushBytes += 3 * 8
	}
	k, _ := handWritten.LoadOrStore(key, own)
	return k.(*lowering.Kernel), nil
}
