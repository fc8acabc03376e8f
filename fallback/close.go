package fallback

import (
	"math/cmplx"

	"nxvk/ops"
)

// allClose compares in complex128, which holds the numbers of all types.
func allClose(in *ops.Instr, args, outs []Value) error {
	shape, err := ops.Broadcast(args[0].Type.Shape, args[1].Type.Shape)
	if err != nil {
		return err
	}
	equalNaN, rtol, atol := in.Attrs[0][0] != 0, real64(in.Attrs[1]), real64(in.Attrs[2])
	near := func(x, y complex128) bool {
		switch {
		case cmplx.IsNaN(x) || cmplx.IsNaN(y):
			return equalNaN && cmplx.IsNaN(x) && cmplx.IsNaN(y)
		case cmplx.IsInf(x) || cmplx.IsInf(y):
			return x == y
		}
		return cmplx.Abs(x-y) <= atol+rtol*cmplx.Abs(y)
	}
	xs, ys := loadAll[complex128](args[0]), loadAll[complex128](args[1])
	var p plan
	var c cursor
	p.broadcast(shape, args)
	c.seek(&p, 0)
	outs[0].Data[0] = 1
	for range p.n {
		if !near(xs[c.at[0]], ys[c.at[1]]) {
			outs[0].Data[0] = 0
			return nil
		}
		c.advance(1)
	}
	return nil
}
