package scalar

import (
	"math"
	"testing"
)

// cost counts the operations that computing f takes: those of a branch where it is taken.
func cost(f *Func, args ...uint64) int {
	values, n := make([]uint64, len(f.Nodes)), 0
	for i := range f.Nodes {
		switch node := &f.Nodes[i]; node.Op {
		case Const:
			values[i] = node.Bits
		case Param:
			values[i] = args[node.Index]
		default:
			operands := make([]uint64, len(node.Args))
			for k, a := range node.Args {
				operands[k] = values[a]
			}
			if node.Op == Rare && operands[0] != 0 {
				n += cost(node.Slow, operands[2:]...)
			}
			n++
			values[i] = Model{}.apply(node, f.Nodes[node.Args[0]].Type, operands)
		}
	}
	return n
}

// Tensors are full of zeros, and of what a mask excludes. On a GPU every element costs what the costliest of its subgroup
// does, so these take no branch that is meant for few.
func TestCommonNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		code string
		at   [][2]float64
	}{
		{"x / y", [][2]float64{{0, 3}, {0, -0.1}, {math.Copysign(0, -1), 7}}},
		{"exp(x)", [][2]float64{{0, 0}, {-1e9, 0}, {-inf, 0}, {-3e38, 0}, {inf, 0}}},
		{"log(x)", [][2]float64{{0, 0}}},
		{"log1p(x)", [][2]float64{{0, 0}}},
		{"expm1(x)", [][2]float64{{0, 0}, {-inf, 0}}},
		{"sqrt(x)", [][2]float64{{0, 0}}},
		{"rsqrt(x)", [][2]float64{{0, 0}}},
		{"sigmoid(x)", [][2]float64{{0, 0}, {-1e9, 0}, {-inf, 0}, {1e9, 0}}},
		{"tanh(x)", [][2]float64{{0, 0}, {-1e9, 0}, {inf, 0}}},
		{"erf(x)", [][2]float64{{0, 0}, {-1e9, 0}}},
		{"sin(x)", [][2]float64{{0, 0}}},
		{"cos(x)", [][2]float64{{0, 0}}},
		{"pow(x, y)", [][2]float64{{0, 0.5}, {0, 1.7}, {0, 7}}},
		{"atan2(x, y)", [][2]float64{{0, 1}, {1, 0}, {0, -2}}},
		{"fmod(x, y)", [][2]float64{{0, 3}}},
	} {
		for _, env := range []Env{{Bits: 16, Exp2: true, Subnormals: true}, {Bits: 32, Exp2: true, Subnormals: true}} {
			f := compile(t, c.code, F32, env)
			plain := cost(f, floatBits(0.7, F32), floatBits(1.3, F32), 0)
			for _, at := range c.at {
				if n := cost(f, floatBits(at[0], F32), floatBits(at[1], F32), 0); n > plain+max(plain/2, 12) {
					t.Errorf("%s of %d bits takes %d operations at %v, %d at another place", c.code, env.Bits, n, at, plain)
				}
			}
		}
	}
}
