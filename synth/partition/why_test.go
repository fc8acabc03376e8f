package partition_test

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// story is what the fusions tell, a line for each end.
func story(fusions []fusion.Fusion) string {
	var b strings.Builder
	for i := range fusions {
		w := fusions[i].Why
		fmt.Fprintf(&b, "by (%v)\n", w.Rules)
		for _, e := range w.Ends {
			fmt.Fprintf(&b, "before %v: %s\n", e.Reader.Op, e.Reason)
		}
	}
	return b.String()
}

// A fusion tells by which rules it came together and why those that read it are apart.
func TestExplainFusions(t *testing.T) {
	less, tight := *synthtest.GPU, *synthtest.GPU
	less.Off, tight.MaxPush = lowering.RulePointwise|lowering.RuleReduceIn|lowering.RuleReduceOut|lowering.RuleMulti|lowering.RuleRows, 32
	rows := synthtest.Attrs{{1}, {1}}
	for _, c := range []struct {
		name   string
		target *lowering.Target
		grow   func(g *synthtest.Sketch) ops.Operand
		want   string
	}{
		{"one kernel", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Param(ops.F32, 8, 64)
			e := g.Do(ops.Exp, ops.F32, g.Do(ops.Subtract, ops.F32, x, g.Do(ops.ReduceMax, ops.F32, x, rows)))
			return g.Do(ops.Divide, ops.F32, e, g.Do(ops.Sum, ops.F32, e, rows))
		}, "by (pointwise, multi, rows)\n"},
		{"a sort", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 300), g.Param(ops.F32, 300)))
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Sort, ops.F32, x, synthtest.Attrs{{0}, {0}, {0}}))
		}, "by (pointwise)\nbefore sort: sort has kernels of its own\nby ()\nbefore tanh: sort has kernels of its own\nby ()\n"},
		{"a whole reduction first", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Param(ops.F32, 2, 1<<20)
			s := g.Do(ops.Sum, ops.F32, g.Do(ops.Tanh, ops.F32, x), rows)
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 2, 1<<20), s))
		}, "by (reduce_in)\nbefore tanh: it needs the whole reduction first; a row is too long for the registers of one kernel\nby (pointwise)\n"},
		{"another shape", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 300), g.Param(ops.F32, 300)))
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, x, g.Param(ops.F32, 40, 300)))
		}, "by (pointwise)\nbefore add: it has a different number of elements\nby (pointwise)\n"},
		{"another order", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 30), g.Param(ops.F32, 30)))
			return g.Do(ops.Add, ops.F32, g.Do(ops.Reverse, ops.F32, x, synthtest.Attrs{{0}}), x)
		}, "by (pointwise)\nbefore add: it reads the elements in a different order\nby (views)\n"},
		{"rules off", &less, func(g *synthtest.Sketch) ops.Operand {
			s := g.Do(ops.Sum, ops.F32, g.Do(ops.Tanh, ops.F32, g.Param(ops.F32, 8, 64)), rows)
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Exp, ops.F32, s))
		}, "by ()\nbefore sum: the rule reduce_in is disabled; the rule rows is disabled\n" +
			"by ()\nbefore exp: the rule reduce_out is disabled; the rule rows is disabled\n" +
			"by ()\nbefore tanh: the rule pointwise is disabled\nby ()\n"},
		{"too many parameters", &tight, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 300), g.Param(ops.F32, 300)))
			y := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 300), g.Param(ops.F32, 300)))
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, x, y))
		}, "by (pointwise)\nbefore add: the kernel would need more push constants than the device has\nby (pointwise)\n"},
		{"products", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 64, 64), g.Param(ops.F32, 64, 64)))
			z := g.Do(ops.Dot, ops.F32, x, x, synthtest.Attrs{{1}, {}, {0}, {}})
			return g.Do(ops.Sum, ops.F32, g.Do(ops.Tanh, ops.F32, z), rows)
		}, "by (pointwise)\nbefore dot: dot reads its operands from memory\nby (products)\nbefore sum: a reduction cannot be fused with a contraction\nby ()\n"},
		{"a product of a processor", synthtest.CPU, func(g *synthtest.Sketch) ops.Operand {
			x := g.Param(ops.F32, 64, 64)
			return g.Do(ops.Tanh, ops.F32, g.Do(ops.Dot, ops.F32, x, x, synthtest.Attrs{{1}, {}, {0}, {}}))
		}, "by ()\nbefore tanh: dot has no epilogue on a processor\nby ()\n"},
		{"a concatenation", synthtest.GPU, func(g *synthtest.Sketch) ops.Operand {
			x, y := g.Param(ops.F32, 64), g.Param(ops.F32, 64)
			s := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, x, y))
			d := g.Do(ops.Tanh, ops.F32, g.Do(ops.Subtract, ops.F32, x, y))
			all := g.Do(ops.Concatenate, ops.F32, s, d, synthtest.Attrs{{0}})
			return g.Do(ops.Sort, ops.F32, all, synthtest.Attrs{{0}, {0}, {0}})
		}, "by (pointwise, views)\nbefore sort: sort has kernels of its own\nby ()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := synthtest.NewSketch(t)
			g.Return(c.grow(g))
			target := synthtest.Without(c.target, lowering.RuleChains)
			fusions := synth.Explain(&g.Graph, target)
			if got := story(fusions); got != c.want {
				t.Errorf("got\n%swant\n%s%s", got, c.want, synthtest.Show(fusions))
			}
			for i := range fusions {
				fusions[i].Why = nil
			}
			if plain := synthtest.Show(synth.Fuse(&g.Graph, target)); plain != synthtest.Show(fusions) {
				t.Errorf("other fusions when nobody asks:\n%s", plain)
			}
		})
	}
}

// Whatever reads a fusion and is not part of it has a reason.
func TestExplainRandom(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for seed := range uint64(200) {
			g := synthtest.Grow(t, seed, 30, true)
			for _, u := range synth.Explain(&g.Graph, target) {
				for _, e := range u.Why.Ends {
					if e.Reason == "" {
						t.Errorf("graph %d: nothing keeps %v from\n%s", seed, e.Reader.Op, &u)
					}
				}
			}
		}
	})
}
