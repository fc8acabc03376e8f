package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// dotCase is a dot of any axes: contracted and batch axes of both sides.
type dotCase struct {
	left, right    ops.Type
	out            ops.DType
	cl, bl, cr, br []int
	leftLit        bool // the left operand is a literal
	steps          int  // on a processor; 0: not checked
}

func typ(d ops.DType, shape ...int) ops.Type { return ops.Type{DType: d, Shape: shape} }

var dotCases = []dotCase{
	{left: typ(ops.F32, 8, 9), right: typ(ops.F32, 9, 16), out: ops.F32, cl: []int{1}, cr: []int{0}, steps: 1},
	{left: typ(ops.F32, 9, 8), right: typ(ops.F32, 16, 9), out: ops.F32, cl: []int{0}, cr: []int{1}, steps: 1},
	{left: typ(ops.F64, 20, 30), right: typ(ops.F64, 30, 10), out: ops.F64, cl: []int{1}, cr: []int{0}, steps: 1},
	{left: typ(ops.S64, 3, 5), right: typ(ops.S64, 5, 4), out: ops.S64, cl: []int{1}, cr: []int{0}, steps: 1},
	{left: typ(ops.U8, 12, 40), right: typ(ops.U8, 40, 13), out: ops.U8, cl: []int{1}, cr: []int{0}, steps: 4},
	{left: typ(ops.S8, 12, 40), right: typ(ops.U8, 40, 13), out: ops.S16, cl: []int{1}, cr: []int{0}, steps: 4},
	{left: typ(ops.BF16, 12, 40), right: typ(ops.F32, 40, 13), out: ops.F32, cl: []int{1}, cr: []int{0}, steps: 2},
	{left: typ(ops.F16, 16, 16), right: typ(ops.F16, 16, 16), out: ops.F16, cl: []int{1}, cr: []int{0}, steps: 4},
	{left: typ(ops.U2, 6, 7), right: typ(ops.F32, 7, 9), out: ops.F32, cl: []int{1}, cr: []int{0}, steps: 2},
	// batches, vectors, outer products
	{left: typ(ops.F32, 3, 8, 9), right: typ(ops.F32, 3, 9, 16), out: ops.F32, bl: []int{0}, cl: []int{2}, br: []int{0}, cr: []int{1}, steps: 1},
	{left: typ(ops.F32, 2, 3, 9, 8), right: typ(ops.F32, 2, 3, 11, 9), out: ops.F32, bl: []int{0, 1}, cl: []int{2}, br: []int{0, 1}, cr: []int{3}, steps: 1},
	{left: typ(ops.F32, 70), right: typ(ops.F32, 70), out: ops.F32, cl: []int{0}, cr: []int{0}, steps: 1},
	{left: typ(ops.F32, 12), right: typ(ops.F32, 30), out: ops.F32, steps: 1},
	{left: typ(ops.F32), right: typ(ops.F32, 30), out: ops.F32, steps: 2, leftLit: true},
	// several axes of each kind
	{left: typ(ops.F32, 4, 5, 6), right: typ(ops.F32, 5, 6, 7), out: ops.F32, cl: []int{1, 2}, cr: []int{0, 1}, steps: 1},
	{left: typ(ops.F32, 4, 5, 6), right: typ(ops.F32, 5, 6, 7), out: ops.F32, cl: []int{2, 1}, cr: []int{1, 0}, steps: 1},
	{left: typ(ops.F32, 4, 5, 6), right: typ(ops.F32, 6, 5, 7), out: ops.F32, cl: []int{1, 2}, cr: []int{1, 0}, steps: 2},
	{left: typ(ops.F32, 4, 9, 6), right: typ(ops.F32, 7, 9, 8), out: ops.F32, cl: []int{1}, cr: []int{1}, steps: 3},
	{left: typ(ops.S32, 2, 4, 9, 1, 6), right: typ(ops.S32, 2, 6, 7, 4), out: ops.S32, bl: []int{0}, cl: []int{1, 4}, br: []int{0}, cr: []int{3, 1}},
	{left: typ(ops.F32, 1, 33, 1, 20), right: typ(ops.F32, 20, 1, 18), out: ops.F32, cl: []int{3}, cr: []int{0}, steps: 1},
}

func (c *dotCase) instr(lit *ops.Literal) *ops.Instr {
	shape := ops.Shape{}
	for _, ax := range c.bl {
		shape = append(shape, c.left.Shape[ax])
	}
	free := func(s ops.Shape, a, b []int) {
		for ax, n := range s {
			if !contains(a, ax) && !contains(b, ax) {
				shape = append(shape, n)
			}
		}
	}
	free(c.left.Shape, c.cl, c.bl)
	free(c.right.Shape, c.cr, c.br)
	return &ops.Instr{Op: ops.Dot, Ins: []ops.Operand{{Lit: lit}, {}}, Attrs: [][]int{c.cl, c.bl, c.cr, c.br},
		Outs: []ops.Result{{Type: ops.Type{DType: c.out, Shape: shape}}}}
}

func contains(list []int, x int) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
}

// TestDot lowers instructions and compares with the host's own dot.
func TestDot(t *testing.T) {
	r := open(t)
	f := r.Device.Info().Features
	l := r.Device.Info().Limits
	for _, cpu := range []bool{true, false} {
		target := synth.Target{CPU: cpu, Addresses: !cpu, Float64: f.Float64, Int64: f.Int64, Int16: f.Int16,
			Int8: f.Int8, Storage16: f.Storage16, Storage8: f.Storage8, SharedMemory: l.SharedMemory,
			MaxInvocations: l.MaxWorkgroupInvocations, SubgroupSize: l.Subgroup, MaxPush: l.MaxPush}
		for i, c := range dotCases {
			t.Run(fmt.Sprintf("cpu=%v/%d:%v·%v", cpu, i, c.left, c.right), func(t *testing.T) {
				c.check(t, r, &target)
			})
		}
	}
}

func (c *dotCase) check(t *testing.T, r *Runner, target *synth.Target) {
	rng := rand.New(rand.NewPCG(1, 2))
	left, right := randomValue(t, c.left, rng), randomValue(t, c.right, rng)
	var lit *ops.Literal
	if c.leftLit {
		lit = &ops.Literal{Type: c.left, Data: left.Data}
	}
	in := c.instr(lit)
	types := []ops.Type{c.left, c.right}
	if err := in.Check(types); err != nil {
		t.Fatal(err)
	}
	plan, err := synth.Lower(in, types, target)
	if err != nil {
		t.Fatal(err)
	}
	out, steps := in.Outs[0].Type, c.steps
	if !target.CPU && out.DType != out.DType.Wide() {
		steps-- // the product rounds its results itself
	}
	if c.steps != 0 && len(plan.Steps) != steps {
		t.Errorf("got %d steps, want %d", len(plan.Steps), steps)
	}
	got := fallback.Value{Type: out, Data: execute(t, r, plan, out.Bytes(), left, right)}
	want := fallback.Value{Type: out, Data: make([]byte, out.Bytes())}
	if err := fallback.Run(in, []fallback.Value{left, right}, []fallback.Value{want}); err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
}

// randomValue has integers of every size of the type, or floats in [-1, 1].
func randomValue(t *testing.T, typ ops.Type, r *rand.Rand) fallback.Value {
	t.Helper()
	from := fallback.Value{Type: ops.Type{DType: ops.F64, Shape: typ.Shape}}
	if typ.DType.IsInteger() {
		from.Type.DType = ops.S64
	}
	from.Data = make([]byte, 8*typ.Size())
	e := elements[from.Type.DType]
	for i := range typ.Size() {
		e.random(from.Data[8*i:], r)
	}
	v := fallback.Value{Type: typ, Data: make([]byte, typ.Bytes())}
	if err := fallback.Convert(v, from); err != nil {
		t.Fatal(err)
	}
	return v
}

// compare wants integers equal, and floats within a few steps of the sums that
// these cases have.
func compare(t *testing.T, got, want fallback.Value) {
	t.Helper()
	if got.Type.DType.IsInteger() {
		if string(got.Data) != string(want.Data) {
			t.Errorf("got % x, want % x", got.Data, want.Data)
		}
		return
	}
	eps := map[ops.DType]float64{ops.F16: 0x1p-10, ops.F32: 0x1p-22, ops.F64: 0x1p-50}[got.Type.DType]
	g, w := floats(t, got), floats(t, want)
	for i := range g {
		if d := math.Abs(g[i] - w[i]); !(d <= eps*(4+math.Abs(w[i]))) {
			t.Fatalf("element %d: got %v, want %v", i, g[i], w[i])
		}
	}
}

func floats(t *testing.T, v fallback.Value) []float64 {
	t.Helper()
	to := fallback.Value{Type: ops.Type{DType: ops.F64, Shape: v.Type.Shape}, Data: make([]byte, 8*v.Type.Size())}
	if err := fallback.Convert(to, v); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, v.Type.Size())
	e := elements[ops.F64]
	for i := range out {
		out[i] = math.Float64frombits(e.get(to.Data, i))
	}
	return out
}

// execute runs a plan of synth with its operands on the device.
func execute(t *testing.T, r *Runner, plan *synth.Plan, size int, ins ...fallback.Value) []byte {
	t.Helper()
	s := r.Device.Stream()
	alloc := func(n int) *vulkan.Buffer {
		b, err := r.Device.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	buffers := PlanBuffers{{Kind: synth.Result}: alloc(size)}
	for i, v := range ins {
		b := alloc(len(v.Data))
		if err := s.Upload(b, 0, v.Data); err != nil {
			t.Fatal(err)
		}
		buffers[synth.Ref{Kind: synth.Operand, Index: i}] = b
	}
	t.Cleanup(buffers.Free)
	if err := buffers.Reserve(r.Device, plan); err != nil {
		t.Fatal(err)
	}
	for i := range plan.Steps {
		if err := dispatch(r, s, &plan.Steps[i], buffers, ins); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(s); err != nil {
		t.Fatal(err)
	}
	out, err := r.Read(buffers[synth.Ref{Kind: synth.Result}])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// dispatch records a step whose literals are operands.
func dispatch(r *Runner, s *vulkan.Stream, st *synth.Step, buffers PlanBuffers, ins []fallback.Value) error {
	push := slices.Clone(st.Push)
	for _, l := range st.Lits {
		as := ops.Type{DType: l.As}
		if err := fallback.Convert(fallback.Value{Type: as, Data: push[l.Offset : l.Offset+as.Bytes()]}, ins[l.Operand]); err != nil {
			return err
		}
	}
	return r.RecordStep(s, st, push, buffers)
}
