package synth

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/ops"
)

// story is what the units tell, a line for each end.
func story(units []Unit) string {
	var b strings.Builder
	for i := range units {
		w := units[i].Why
		fmt.Fprintf(&b, "by (%v)\n", w.Rules)
		for _, e := range w.Ends {
			fmt.Fprintf(&b, "before %v: %s\n", e.Reader.Op, e.Reason)
		}
	}
	return b.String()
}

// A unit tells by which rules it came together and why those that read it are apart.
func TestExplainUnits(t *testing.T) {
	less, tight := *gpu, *gpu
	less.Off, tight.MaxPush = RulePointwise|RuleReduceIn|RuleReduceOut|RuleMulti|RuleRows, 32
	rows := attrs{{1}, {1}}
	for _, c := range []struct {
		name   string
		target *Target
		grow   func(g *sketch) ops.Operand
		want   string
	}{
		{"one kernel", gpu, func(g *sketch) ops.Operand {
			x := g.param(ops.F32, 8, 64)
			e := g.do(ops.Exp, ops.F32, g.do(ops.Subtract, ops.F32, x, g.do(ops.ReduceMax, ops.F32, x, rows)))
			return g.do(ops.Divide, ops.F32, e, g.do(ops.Sum, ops.F32, e, rows))
		}, "by (multi, rows)\n"},
		{"a sort", gpu, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 300), g.param(ops.F32, 300)))
			return g.do(ops.Tanh, ops.F32, g.do(ops.Sort, ops.F32, x, attrs{{0}, {0}, {0}}))
		}, "by (pointwise)\nbefore sort: sort has kernels of its own\nby ()\nbefore tanh: sort has kernels of its own\nby ()\n"},
		{"a whole reduction first", gpu, func(g *sketch) ops.Operand {
			x := g.param(ops.F32, 2, 1<<20)
			s := g.do(ops.Sum, ops.F32, g.do(ops.Tanh, ops.F32, x), rows)
			return g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 2, 1<<20), s))
		}, "by (reduce_in)\nbefore add: it needs the whole reduction first; one kernel cannot hold such rows\nby (pointwise)\n"},
		{"another shape", gpu, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 300), g.param(ops.F32, 300)))
			return g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, x, g.param(ops.F32, 40, 300)))
		}, "by (pointwise)\nbefore add: it has another number of elements\nby (pointwise)\n"},
		{"another order", gpu, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 30), g.param(ops.F32, 30)))
			return g.do(ops.Add, ops.F32, g.do(ops.Reverse, ops.F32, x, attrs{{0}}), x)
		}, "by (pointwise)\nbefore add: it reads the elements in another order\nby (views)\n"},
		{"rules off", &less, func(g *sketch) ops.Operand {
			s := g.do(ops.Sum, ops.F32, g.do(ops.Tanh, ops.F32, g.param(ops.F32, 8, 64)), rows)
			return g.do(ops.Tanh, ops.F32, g.do(ops.Exp, ops.F32, s))
		}, "by ()\nbefore sum: the rule reduce_in is switched off; the rule rows is switched off\n" +
			"by ()\nbefore exp: the rule reduce_out is switched off; the rule rows is switched off\n" +
			"by ()\nbefore tanh: the rule pointwise is switched off\nby ()\n"},
		{"too many parameters", &tight, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 300), g.param(ops.F32, 300)))
			y := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 300), g.param(ops.F32, 300)))
			return g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, x, y))
		}, "by (pointwise)\nbefore add: the kernel would take more parameters than the device has room for\nby (pointwise)\n"},
		{"products", gpu, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 64, 64), g.param(ops.F32, 64, 64)))
			z := g.do(ops.Dot, ops.F32, x, x, attrs{{1}, {}, {0}, {}})
			return g.do(ops.Sum, ops.F32, g.do(ops.Tanh, ops.F32, z), rows)
		}, "by (pointwise)\nbefore dot: dot reads its operands from memory\nby (products)\nbefore sum: a product takes no reduction in\nby ()\n"},
		{"a product of a processor", cpu, func(g *sketch) ops.Operand {
			x := g.param(ops.F32, 64, 64)
			return g.do(ops.Tanh, ops.F32, g.do(ops.Dot, ops.F32, x, x, attrs{{1}, {}, {0}, {}}))
		}, "by ()\nbefore tanh: dot takes nothing in on a processor\nby ()\n"},
		{"a concatenation", gpu, func(g *sketch) ops.Operand {
			x, y := g.param(ops.F32, 64), g.param(ops.F32, 64)
			s := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, x, y))
			d := g.do(ops.Tanh, ops.F32, g.do(ops.Subtract, ops.F32, x, y))
			all := g.do(ops.Concatenate, ops.F32, s, d, attrs{{0}})
			return g.do(ops.Sort, ops.F32, all, attrs{{0}, {0}, {0}})
		}, "by (pointwise, views)\nbefore sort: sort has kernels of its own\nby ()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newSketch(t)
			g.keep(c.grow(g))
			units := Explain(&g.Graph, c.target)
			if got := story(units); got != c.want {
				t.Errorf("got\n%swant\n%s%s", got, c.want, show(units))
			}
			for i := range units {
				units[i].Why = nil
			}
			if plain := show(Units(&g.Graph, c.target)); plain != show(units) {
				t.Errorf("other units when nobody asks:\n%s", plain)
			}
		})
	}
}

// Whatever reads a unit and is not part of it has a reason.
func TestExplainRandom(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for seed := range uint64(200) {
			g := grow(t, seed, 30, true)
			for _, u := range Explain(&g.Graph, target) {
				for _, e := range u.Why.Ends {
					if e.Reason == "" {
						t.Errorf("graph %d: nothing keeps %v from\n%s", seed, e.Reader.Op, &u)
					}
				}
			}
		}
	})
}
