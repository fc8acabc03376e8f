package exec

import (
	"slices"
	"strings"
	"testing"

	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/program"
	"nxvk/ops"
)

// TestExplainWhy: every part tells by what it was joined and what it ends before.
func TestExplainWhy(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(300)
		sorted, hook := op(ops.Sort, res(5, v), ref(4)), op(ops.Hook, ops.Result{}, ref(4))
		sorted.Attrs, hook.Outs, hook.Attrs = [][]int{{0}, {0}, {0}}, nil, [][]int{{0}}
		body := []ops.Instr{op(ops.Add, res(3, v), ref(1), ref(2)), op(ops.Tanh, res(4, v), ref(3)), sorted}
		for i := range ops.ID(5) {
			wide := op(ops.Add, res(6+i, f32(2+int(i), 300)), ref(4), ref(20+i))
			body = append(body, wide)
		}
		body = append(body, hook, op(ops.Exp, res(11, v), ref(5)))
		p := &ops.Region{Params: []ops.Result{res(1, v), res(2, v)}, Values: uses(11, 4), Body: body}
		for i := range ops.ID(5) {
			p.Params = append(p.Params, res(20+i, f32(2+int(i), 300)))
			p.Values = append(p.Values, uses(6+i)...)
		}
		r.Define(q, "parts", p)
		parts, err := r.explain(q, "parts")
		if err != nil {
			t.Fatal(err)
		}
		if r.Dev == nil {
			for _, p := range parts {
				if p.Place == explain.PlaceHost && !slices.Equal(p.Why, []string{program.WhyHost}) {
					t.Errorf("%v: %q", p.Instructions, p.Why)
				}
			}
			return
		}
		want := map[string][]string{
			"tanh": {"joined by pointwise", "ends before %10 sort: sort has kernels of its own",
				"ends before %11 add, %12 add, %13 add and 2 more: it has a different number of elements",
				"ends before hook: " + program.WhyControl, "%9 is a result"},
			"sort": {"ends before %16 exp: " + program.WhyControl},
			"exp":  {"%16 is a result"},
		}
		for _, p := range parts {
			for name, lines := range want {
				if last := p.Instructions[len(p.Instructions)-1]; !strings.Contains(last, " = "+name+" ") {
					continue
				}
				if delete(want, name); !slices.Equal(p.Why, lines) {
					t.Errorf("%s: got\n%q\nwant\n%q", name, p.Why, lines)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("no part ends in %v: %v", want, parts)
		}
		r.exec.core.cfg.OneByOne = true
		parts, err = r.explain(q, "parts")
		if err != nil || !slices.Equal(parts[0].Why, []string{program.WhyAlone}) {
			t.Errorf("without units: %q, %v", parts[0].Why, err)
		}
		r.exec.core.cfg.OneByOne, r.exec.core.target.Float64 = false, false
		double := ops.Type{DType: ops.F64, Shape: ops.Shape{3}}
		r.Define(q, "wide", &ops.Region{Params: []ops.Result{res(1, double)}, Values: uses(2), Body: []ops.Instr{op(ops.Exp, res(2, double), ref(1))}})
		parts, err = r.explain(q, "wide")
		if err != nil || parts[0].Place != explain.PlaceHost || !strings.Contains(strings.Join(parts[0].Why, "\n"), "the device cannot: ") {
			t.Errorf("what the device cannot: %v, %v", parts, err)
		}
	})
}
