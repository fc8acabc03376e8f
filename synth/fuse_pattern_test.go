package synth

import (
	"os"
	"path/filepath"
	"testing"

	"nxvk/ops"
)

func (g *sketch) logSoftmax(x ops.Operand) ops.Operand {
	d, last := g.typeOf(x).DType, len(g.typeOf(x).Shape)-1
	c := g.do(ops.Subtract, d, x, g.do(ops.ReduceMax, d, x, attrs{{last}, {1}}))
	return g.do(ops.Subtract, d, c, g.do(ops.Log, d, g.do(ops.Sum, d, g.do(ops.Exp, d, c), attrs{{last}, {1}})))
}

// crossEntropy is the mean over rows of the logarithm of what is right.
func (g *sketch) crossEntropy(logits, labels ops.Operand) ops.Operand {
	rows := g.typeOf(logits).Shape[0]
	hit := g.do(ops.Sum, ops.F32, g.do(ops.Multiply, ops.F32, labels, g.logSoftmax(logits)), attrs{{1}, {0}})
	return g.do(ops.Negate, ops.F32, g.do(ops.Divide, ops.F32, g.do(ops.Sum, ops.F32, hit, attrs{{0}, {0}}),
		g.num(ops.S32, float64(rows))))
}

// adam is one update of a tensor: the new moments and the new value.
func (g *sketch) adam(p, grad, m, v, step ops.Operand) []ops.Operand {
	f := func(op ops.Op, args ...any) ops.Operand { return g.do(op, ops.F32, args...) }
	num := func(x float64) ops.Operand { return g.num(ops.F32, x) }
	m1 := f(ops.Add, f(ops.Multiply, m, num(0.9)), f(ops.Multiply, grad, num(0.1)))
	v1 := f(ops.Add, f(ops.Multiply, v, num(0.999)), f(ops.Multiply, f(ops.Multiply, grad, grad), num(0.001)))
	mh := f(ops.Divide, m1, f(ops.Subtract, num(1), f(ops.Pow, num(0.9), step)))
	vh := f(ops.Divide, v1, f(ops.Subtract, num(1), f(ops.Pow, num(0.999), step)))
	d := f(ops.Divide, f(ops.Multiply, mh, num(0.01)), f(ops.Add, f(ops.Sqrt, vh), num(1e-8)))
	return []ops.Operand{m1, v1, f(ops.Subtract, p, d)}
}

// mlp is the step of a perceptron with one hidden layer: what its weights and
// biases become.
func (g *sketch) mlp(batch, in, hidden, classes int) []ops.Operand {
	f := func(op ops.Op, args ...any) ops.Operand { return g.do(op, ops.F32, args...) }
	dot := func(a ops.Operand, i int, b ops.Operand, j int) ops.Operand {
		return f(ops.Dot, a, b, attrs{{i}, {}, {j}, {}})
	}
	x, y := g.param(ops.F32, batch, in), g.param(ops.F32, batch, classes)
	w1, b1 := g.param(ops.F32, in, hidden), g.param(ops.F32, hidden)
	w2, b2 := g.param(ops.F32, hidden, classes), g.param(ops.F32, classes)
	h := f(ops.Tanh, f(ops.Add, dot(x, 1, w1, 0), b1))
	d2 := f(ops.Divide, f(ops.Subtract, g.softmax(f(ops.Add, dot(h, 1, w2, 0), b2)), y), g.num(ops.S32, float64(batch)))
	d1 := f(ops.Multiply, dot(d2, 1, w2, 1), f(ops.Subtract, g.num(ops.F32, 1), f(ops.Multiply, h, h)))
	step := func(p, d ops.Operand) ops.Operand { return f(ops.Subtract, p, f(ops.Multiply, d, g.num(ops.F32, 0.1))) }
	over := attrs{{0}, {0}}
	return []ops.Operand{step(w1, dot(x, 0, d1, 0)), step(b1, f(ops.Sum, d1, over)),
		step(w2, dot(h, 0, d2, 0)), step(b2, f(ops.Sum, d2, over))}
}

// patterns are graphs that programs of tensors have in them.
func patterns(t *testing.T) map[string]*sketch {
	ps := map[string]*sketch{}
	add := func(name string, f func(g *sketch)) {
		ps[name] = newSketch(t)
		f(ps[name])
	}
	add("softmax", func(g *sketch) { g.keep(g.softmax(g.param(ops.F32, 4, 3, 16))) })
	add("log_softmax_bf16", func(g *sketch) { g.keep(g.logSoftmax(g.param(ops.BF16, 4, 100))) })
	add("layer_norm", func(g *sketch) {
		g.keep(g.layerNorm(g.param(ops.F32, 5, 96), g.param(ops.F32, 96), g.param(ops.F32, 96)))
	})
	add("cross_entropy", func(g *sketch) { g.keep(g.crossEntropy(g.param(ops.F32, 32, 10), g.param(ops.F32, 32, 10))) })
	add("adam", func(g *sketch) {
		step := g.param(ops.S32)
		g.keep(g.adam(g.param(ops.F32, 6, 7), g.param(ops.F32, 6, 7), g.param(ops.F32, 6, 7), g.param(ops.F32, 6, 7), step)...)
	})
	add("mlp", func(g *sketch) { g.keep(g.mlp(8, 12, 16, 10)...) })
	add("stencil", func(g *sketch) {
		x := g.param(ops.F32, 6, 8)
		p := g.do(ops.Pad, ops.F32, g.do(ops.Abs, ops.F32, x), g.num(ops.F32, 0), attrs{{1, 1, 0, 1, 1, 0}})
		sum := g.do(ops.Multiply, ops.F32, x, g.num(ops.F32, -4))
		for _, at := range [][]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
			sum = g.do(ops.Add, ops.F32, sum, g.do(ops.Slice, ops.F32, p, attrs{at, {6, 8}, {1, 1}}))
		}
		g.keep(sum)
	})
	add("padding_apart", func(g *sketch) { // from a reduction, and from what takes many operations
		x, v := g.param(ops.F32, 6, 8), g.param(ops.F32)
		p := g.do(ops.Pad, ops.F32, g.do(ops.Tanh, ops.F32, x), v, attrs{{2, 0, 0, -1, 0, 1}})
		g.keep(g.do(ops.Exp, ops.F32, p), g.do(ops.Sum, ops.F32, p, attrs{{1}, {0}}))
	})
	add("slide", func(g *sketch) {
		x, at := g.param(ops.F32, 10, 8), g.param(ops.S32)
		w := g.do(ops.Slice, ops.F32, x, at, g.num(ops.S32, 0), attrs{{}, {3, 8}, {1, 1}})
		g.keep(g.do(ops.Multiply, ops.F32, w, g.param(ops.F32, 3, 8)))
	})
	add("complex", func(g *sketch) {
		w, abs := g.polynomial(g.param(ops.C64, 3, 8), g.param(ops.F32, 8))
		g.keep(w, g.do(ops.Sum, ops.F32, abs, attrs{{1}, {0}}))
	})
	return ps
}

// The units of known graphs as text, before and after. After a change that is
// meant: go test ./synth -run Patterns -update.
func TestPatterns(t *testing.T) {
	for name, g := range patterns(t) {
		t.Run(name, func(t *testing.T) {
			g.t = t
			got := g.String() + show(g.check(gpu, 9))
			path := filepath.Join("testdata", "units_"+name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for range 10 {
				if again := show(Units(&g.Graph, gpu)); again != show(Units(&g.Graph, gpu)) || g.String()+again != got {
					t.Fatalf("other units the next time:\n%s", again)
				}
			}
			g.check(cpu, 9)
		})
	}
}

// With any rule switched off the bits are the same, and with all of them every
// instruction that is kept is alone.
func TestRulesOff(t *testing.T) {
	all := Rules(0)
	for name, rule := range ruleNames {
		all |= rule
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseRules(name)
			if err != nil || parsed != rule {
				t.Fatalf("ParseRules(%q) = %v, %v", name, parsed, err)
			}
			for target := range targets {
				off := *targets[target]
				off.Off = rule
				for _, g := range patterns(t) {
					g.check(&off, 3)
				}
				for seed := range uint64(8) {
					grow(t, seed, 12, true).check(&off, seed)
				}
			}
		})
	}
	off := *gpu
	off.Off = all
	for name, g := range patterns(t) {
		for _, u := range Units(&g.Graph, &off) {
			if len(u.Outs) > 1 || countArithmetic(&u) > 1 {
				t.Errorf("%s: with no rule on:\n%s", name, show([]Unit{u}))
			}
		}
	}
	if _, err := ParseRules("pointwise,magic"); err == nil {
		t.Error("an unknown rule is taken")
	}
}

// countArithmetic counts the instructions of a unit that are no views.
func countArithmetic(u *Unit) int {
	n := 0
	for i := range u.Body {
		if k := u.Body[i].Op.Info().Kind; k != ops.Movement && k != ops.Create {
			n++
		}
	}
	return n
}
