// Package shard says how values are divided over a mesh of devices: which axes of the mesh divide which
// dimension of a value, as the PartitionSpec of JAX does. Package wire reads it from clients, and
// synth/spmd divides programs by it.
//
// The package does not know what a mesh consists of. Start reading at Sharding.
package shard

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// HostBytes is the size of operands of collectives up to which the host passes them on and combines them, although devices share memory.
const HostBytes = 64 << 10

// Sharding says how a value is divided over a mesh: for each dimension the axes of the mesh that divide it, the
// first of them into the largest parts. A dimension without axes is whole on every rank.
type Sharding [][]int

// Share is one rank's share of a program on a mesh.
type Share struct {
	Shape  []int      // of the mesh; ranks are row-major in it
	Rank   int        // whose share it is
	Params []Sharding // of the parameters
	Whole  bool       // every rank gets all of the values
}

// Whole is the sharding of a value that every rank has.
func Whole(rank int) Sharding { return make(Sharding, rank) }

// Parts is into how many parts axes of the mesh divide a dimension.
func (p *Share) Parts(axes []int) int {
	n := 1
	for _, a := range axes {
		n *= p.Shape[a]
	}
	return n
}

// Local is the type of a rank's part of a value.
func (p *Share) Local(t ops.Type, s Sharding) ops.Type {
	shape := slices.Clone(t.Shape)
	for d := range shape {
		shape[d] /= p.Parts(s[d])
	}
	return ops.Type{DType: t.DType, Shape: shape}
}

// Check reports whether the mesh is one, and the parameters can be divided so.
func (p *Share) Check(params []ops.Result) error {
	ranks := 1
	for _, n := range p.Shape {
		if n < 1 || n > 1<<16 {
			return fmt.Errorf("the mesh %v has an axis of %d", p.Shape, n)
		}
		if ranks *= n; ranks > 1<<16 {
			return fmt.Errorf("the mesh %v has too many ranks", p.Shape)
		}
	}
	if len(p.Shape) == 0 || p.Rank < 0 || p.Rank >= ranks {
		return fmt.Errorf("the mesh %v has no rank %d", p.Shape, p.Rank)
	}
	if len(p.Params) != len(params) {
		return fmt.Errorf("%d shardings are given for %d parameters", len(p.Params), len(params))
	}
	for i, s := range p.Params {
		if err := p.fits(params[i].Type, s); err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	return nil
}

// fits reports whether a value can be divided so.
func (p *Share) fits(t ops.Type, s Sharding) error {
	if len(s) != len(t.Shape) {
		return fmt.Errorf("the sharding %v has not a list of axes for each dimension of %v", s, t)
	}
	var used []int
	for d, axes := range s {
		for _, a := range axes {
			if a < 0 || a >= len(p.Shape) {
				return fmt.Errorf("the mesh %v has no axis %d", p.Shape, a)
			}
			if slices.Contains(used, a) {
				return fmt.Errorf("axis %d of the mesh divides %v twice", a, t)
			}
			used = append(used, a)
		}
		if n := p.Parts(axes); t.Shape[d]%n != 0 {
			return fmt.Errorf("dimension %d of %v cannot be divided into %d parts", d, t, n)
		}
	}
	return nil
}
