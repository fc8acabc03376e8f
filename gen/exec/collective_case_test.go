package exec

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
)

// cast makes elements of a type of small integers.
func cast(t testing.TB, d ops.DType, v []float64) []byte {
	t.Helper()
	from, to := ops.Type{DType: ops.F64, Shape: ops.Shape{len(v)}}, ops.Type{DType: d, Shape: ops.Shape{len(v)}}
	return convert(t, from, to, doubles(v))
}

func convert(t testing.TB, from, to ops.Type, data []byte) []byte {
	t.Helper()
	out := make([]byte, to.Bytes())
	in := &ops.Instr{Op: ops.AsType, Ins: uses(1), Outs: []ops.Result{{ID: 2, Type: to}}}
	if err := fallback.Run(in, []fallback.Value{{Type: from, Data: data}}, []fallback.Value{{Type: to, Data: out}}); err != nil {
		t.Fatal(err)
	}
	return out
}

func doubles(v []float64) []byte {
	var b bytes.Buffer
	for _, x := range v {
		b.Write(le64(x))
	}
	return b.Bytes()
}

// collectiveCase is a collective on drawn operands, and what each rank has to get.
type collectiveCase struct {
	op       ops.Op
	operator int
	t        ops.Type
	out      ops.Type
	groups   [][]int
	operands [][]float64 // by rank
	want     [][]float64
}

func drawCollective(rng *rand.Rand, ranks, size int) (c collectiveCase) {
	types := []ops.DType{ops.U8, ops.S8, ops.U4, ops.S16, ops.S32, ops.U64, ops.BF16, ops.F16, ops.F32, ops.F64, ops.C64}
	c.op = ops.AllReduce + ops.Op(rng.IntN(5))
	c.operator = rng.IntN(4)
	d := types[rng.IntN(len(types))]
	if size > 16<<20 {
		d = ops.F64
	}
	if d == ops.C64 {
		c.operator = rng.IntN(2)
	}
	c.groups = drawGroups(rng, ranks)
	n := len(c.groups[0])
	c.t = ops.Type{DType: d, Shape: ops.Shape{1 + rng.IntN(5), max(1, size/d.Size()/5)}}
	switch c.op {
	case ops.ReduceScatter:
		c.t.Shape = append(ops.Shape{n}, c.t.Shape...)
		c.out = ops.Type{DType: d, Shape: c.t.Shape[1:]}
	case ops.AllToAll:
		c.t.Shape = append(ops.Shape{n}, c.t.Shape...)
		c.out = c.t
	case ops.AllGather:
		c.out = ops.Type{DType: d, Shape: append(ops.Shape{n}, c.t.Shape...)}
	default:
		c.out = c.t
	}
	for range ranks {
		v := make([]float64, c.t.Size())
		for i := range v {
			v[i] = float64(rng.IntN(2 + 2*rng.IntN(2))) // sums and products up to 81 are exact but for u4, which wraps
			if d == ops.U4 || d == ops.S8 {
				v[i] = float64(rng.IntN(2))
			}
		}
		c.operands = append(c.operands, v)
	}
	c.want = make([][]float64, ranks)
	for _, g := range c.groups {
		for at, rank := range g {
			c.want[rank] = c.expect(g, at)
		}
	}
	return c
}

// drawGroups divides ranks into groups of one size, in any order.
func drawGroups(rng *rand.Rand, ranks int) (groups [][]int) {
	size := []int{1, ranks / 2, ranks, ranks}[rng.IntN(4)]
	order := rng.Perm(ranks)
	for lo := 0; lo < ranks; lo += size {
		groups = append(groups, order[lo:lo+size])
	}
	return groups
}

// expect is what the rank at a place of a group has to get, by the definitions.
func (c *collectiveCase) expect(g []int, at int) (out []float64) {
	part := c.t.Size() / len(g)
	switch c.op {
	case ops.CollectiveBroadcast:
		return c.operands[g[0]]
	case ops.AllGather:
		for _, r := range g {
			out = append(out, c.operands[r]...)
		}
		return out
	case ops.AllToAll:
		for _, r := range g {
			out = append(out, c.operands[r][at*part:(at+1)*part]...)
		}
		return out
	}
	out = append(out, c.operands[g[0]]...)
	for _, r := range g[1:] {
		for i, y := range c.operands[r] {
			switch c.operator {
			case 0:
				out[i] += y
			case 1:
				out[i] *= y
			case 2:
				out[i] = max(out[i], y)
			case 3:
				out[i] = min(out[i], y)
			}
		}
	}
	if c.op == ops.ReduceScatter {
		return out[at*part : (at+1)*part]
	}
	return out
}

func (c *collectiveCase) attrs(rank int) [][]int {
	var group []int
	for _, g := range c.groups {
		for _, r := range g {
			if r == rank {
				group = g
			}
		}
	}
	if c.op == ops.AllReduce || c.op == ops.ReduceScatter {
		return [][]int{group, {c.operator}}
	}
	return [][]int{group}
}
