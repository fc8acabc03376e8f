package exec

import (
	"slices"
	"strings"
	"testing"

	"nxvk/gen/exec/explain"
	"nxvk/gen/wire"
	"nxvk/ops"
)

func (r *rig) explain(q *Queue, key string) (parts []explain.Part, err error) {
	r.Helper()
	return r.explained(q, key, Measured)
}

func (r *rig) explained(q *Queue, key string, way Explanations) (parts []explain.Part, err error) {
	r.Helper()
	done := false
	r.exec.Explain(q, key, way, func(p []explain.Part, e error) { parts, err, done = p, e, true })
	r.Until(func() bool { return done })
	return parts, err
}

// TestExplain: on a device the six instructions of a softmax are fewer parts,
// each with kernels that move what they must at least.
func TestExplain(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "softmax", softmax(7, 300))
		parts, err := r.explain(q, "softmax")
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		var bytes int64
		seconds := 0.0
		for _, p := range parts {
			lines = append(lines, p.Instructions...)
			for _, k := range p.Kernels {
				bytes, seconds = bytes+k.Bytes, seconds+k.Seconds
			}
			if want := map[bool]explain.Place{true: explain.PlaceDevice, false: explain.PlaceHost}[r.Dev != nil]; p.Place != want || (len(p.Kernels) > 0) != (r.Dev != nil) {
				t.Errorf("%v: %s with %d kernels", p.Instructions, p.Place, len(p.Kernels))
			}
		}
		if text := strings.Join(lines, "\n"); !strings.Contains(text, "%3:f32[7,1] = reduce_max %1 axes=[1] keep_axes=true") {
			t.Errorf("the instructions are\n%s", text)
		}
		if r.Dev == nil && len(parts) != 6 || r.Dev != nil && len(parts) > 3 {
			t.Errorf("%d parts", len(parts))
		}
		for _, p := range parts {
			if r.Dev != nil && r.Dev.Info().Features.Timestamps && (p.Measured <= 0 || p.Measured > 10) {
				t.Errorf("%v took %v seconds", p.Instructions, p.Measured)
			}
		}
		if r.Dev != nil && (bytes < 3*7*300*4 || seconds <= 0) {
			t.Errorf("%d bytes in %v seconds", bytes, seconds)
		}
	})
}

// TestExplainBlocks: regions are told after the step that they belong to; literal
// parameters of runs stay operands in the text.
func TestExplainBlocks(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "double", doubling(3))
		r.Tensor(q, 1, 1, 2, 3)
		for i := range ops.ID(4) {
			r.run(q, "double", []ops.Result{res(2+2*i, f32(3)), res(3+2*i, f32())}, ref(1), scalar(100), scalar(0))
			r.Want(q, 3+2*i, 5)
			r.Built()
		}
		parts, err := r.explain(q, "double")
		if err != nil {
			t.Fatal(err)
		}
		var blocks []string
		for _, p := range parts {
			if len(blocks) == 0 || blocks[len(blocks)-1] != p.Block {
				blocks = append(blocks, p.Block)
			}
			for _, line := range p.Instructions {
				if strings.Contains(line, "less") && !strings.HasSuffix(line, ", %2") {
					t.Errorf("the condition is %q", line)
				}
			}
		}
		if got := strings.Join(blocks, "|"); parts[0].Place != explain.PlaceControl || !strings.HasSuffix(got, " condition|"+strings.TrimSuffix(blocks[1], "condition")+"body") {
			t.Errorf("blocks %q, the first is %s", got, parts[0].Place)
		}
	})
}

// What the device cannot carry out, what takes no kernel, and what is no program.
func TestExplainPlaces(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(2, 3)
		view, phase := op(ops.Reshape, res(2, f32(6)), ref(1)), op(ops.Hook, ops.Result{}, ref(2))
		phase.Outs, phase.Attrs = nil, [][]int{{0}}
		r.Define(q, "views", &ops.Region{Params: []ops.Result{res(1, v)}, Values: uses(2, 3), Body: []ops.Instr{
			view, phase,
			op(ops.Tensor, res(3, f32(2)), ops.Operand{Lit: &ops.Literal{Type: f32(2), Data: floats(1, 2)}}),
		}})
		parts, err := r.explain(q, "views")
		if err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, p := range parts {
			places = append(places, string(p.Place))
		}
		want := "view control upload"
		if r.Dev == nil {
			want = "host control host"
		}
		if got := strings.Join(places, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := r.explain(q, "nothing"); wire.KindOf(err) != wire.UnknownProgram {
			t.Errorf("a program that is not there: %v", err)
		}
		r.Define(q, "broken", &ops.Region{Values: uses(1)})
		if _, err := r.explain(q, "broken"); wire.KindOf(err) != wire.BadArgument {
			t.Errorf("a broken program: %v", err)
		}
	})
}

// TestExplainInPlace: an update of what a loop carries is told without the copy; one of a parameter
// of the program, which the session may hold, with it.
func TestExplainInPlace(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			return
		}
		q := r.session()
		r.Define(q, "cache", cacheLoop(6, 300, false))
		r.Define(q, "put", &ops.Region{Params: []ops.Result{res(1, f32(6, 300)), res(2, f32(1, 300))}, Values: uses(3), Body: []ops.Instr{
			{Op: ops.PutSlice, Outs: []ops.Result{res(3, f32(6, 300))}, Ins: uses(1, 2), Attrs: [][]int{{2, 0}}}}})
		kernels := func(key string) (n int, why string) {
			parts, err := r.explain(q, key)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if strings.Contains(p.Instructions[len(p.Instructions)-1], "put_slice") {
					n, why = len(p.Kernels), strings.Join(p.Why, "; ")
				}
			}
			return n, why
		}
		if n, why := kernels("cache"); n != 1 || !strings.Contains(why, "in place") {
			t.Errorf("the loop: %d kernels, %s", n, why)
		}
		if n, why := kernels("put"); n != 2 || strings.Contains(why, "in place") {
			t.Errorf("the parameter: %d kernels, %s", n, why)
		}
	})
}

// TestExplainOnGPU: what a GPU would do is told on any device, and on the host. A softmax of rows is one
// kernel there, which reads its operands and writes its results once, and holds nothing else.
func TestExplainOnGPU(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "softmax", softmax(7, 300))
		parts, err := r.explained(q, "softmax", OnGPU)
		if err != nil {
			t.Fatal(err)
		}
		const rows = 7 * 300 * 4
		if len(parts) != 1 || parts[0].Place != explain.PlaceDevice || len(parts[0].Kernels) != 1 {
			t.Fatalf("the parts are %+v", parts)
		}
		if p := parts[0]; p.Kernels[0].Bytes != p.Held+p.Params || p.Held < rows || p.Params < rows {
			t.Errorf("%d bytes are moved, %d held, and %d of parameters", p.Kernels[0].Bytes, p.Held, p.Params)
		}
	})
}

// TestExplainMemory: a value counts from the part that makes it to the last that needs it, and a view is the
// memory of what it looks at.
func TestExplainMemory(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(1000)
		sorted := func(out, in ops.ID) ops.Instr {
			return ops.Instr{Op: ops.Sort, Ins: []ops.Operand{ref(in)}, Outs: []ops.Result{res(out, v)}, Attrs: [][]int{{0}, {0}, {0}}}
		}
		view := f32(10, 100)
		reshape := ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{ref(2)}, Outs: []ops.Result{res(5, view)}}
		r.Define(q, "sorts", &ops.Region{Params: []ops.Result{res(1, v)}, Values: []ops.Operand{ref(4), ref(5)},
			Body: []ops.Instr{sorted(2, 1), sorted(3, 2), sorted(4, 3), reshape}})
		parts, err := r.explained(q, "sorts", OnGPU)
		if err != nil {
			t.Fatal(err)
		}
		var held, params []int64
		for _, p := range parts {
			held, params = append(held, p.Held/4000), append(params, p.Params/4000)
		}
		if want := []int64{1, 2, 2, 3}; !slices.Equal(held, want) {
			t.Errorf("the parts hold %v values, want %v", held, want)
		}
		if want := []int64{1, 0, 0, 0}; !slices.Equal(params, want) {
			t.Errorf("the parts need %v parameters, want %v", params, want)
		}
	})
}
