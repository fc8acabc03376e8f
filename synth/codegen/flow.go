package codegen

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// ReduceTree combines the n entries (a power of two) of shared arrays into their first, eight at a
// time. The combination must be associative and commutative except for rounding.
func (e *Emitter) ReduceTree(n int, combine func(into, from kernel.Value)) {
	for n > 1 {
		part := max(1, n/8)
		e.Barrier()
		e.IfThen(e.IsLess(e.Invocation(), e.Index(part)), func() {
			for from := part; from < n; from += part {
				combine(e.Invocation(), e.Add(e.Invocation(), e.Index(from)))
			}
		})
		n = part
	}
	e.Barrier()
}

// IsLess is x < y for integers.
func (e *Emitter) IsLess(x, y kernel.Value) kernel.Value { return e.Compare(scalar.Lt, x, y) }

// IsEqual is x == y for integers.
func (e *Emitter) IsEqual(x, y kernel.Value) kernel.Value { return e.Compare(scalar.Eq, x, y) }

// Min is the smaller of two integers.
func (e *Emitter) Min(x, y kernel.Value) kernel.Value { return e.Select(e.IsLess(x, y), x, y) }

// And2 is the conjunction of two conditions.
func (e *Emitter) And2(x, y kernel.Value) kernel.Value {
	return e.Prim(scalar.AndB, scalar.Bool, x, y)
}

// Or2 is the disjunction of two conditions.
func (e *Emitter) Or2(x, y kernel.Value) kernel.Value {
	return e.Prim(scalar.OrB, scalar.Bool, x, y)
}

// Not is the negation of a condition.
func (e *Emitter) Not(x kernel.Value) kernel.Value { return e.Prim(scalar.NotB, scalar.Bool, x) }

// When runs body if a condition holds that is the same in all invocations of the workgroup.
// Unlike IfThen, the body may contain barriers.
func (e *Emitter) When(c kernel.Value, body func()) {
	e.Loop(e.Index(0), e.Select(c, e.Index(1), e.Index(0)), e.Index(1), nil, func(kernel.Value, []kernel.Value) []kernel.Value {
		body()
		return nil
	})
}

// For runs body for i from first below limit, in steps of step.
func (e *Emitter) For(first, limit, step kernel.Value, body func(i kernel.Value)) {
	e.Loop(first, limit, step, nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		body(i)
		return nil
	})
}

// IfThen runs body if a condition holds.
func (e *Emitter) IfThen(c kernel.Value, body func()) {
	e.If(c, func() []kernel.Value { body(); return nil }, nil)
}

// DealOut deals the numbers below n out to the invocations of a workgroup. Each loads its
// numbers and then stores the values; sixteen are loaded before the first is stored, so that
// loads overlap.
func (e *Emitter) DealOut(n int, load func(u kernel.Value) kernel.Value, store func(u, v kernel.Value)) {
	const ahead = 16
	for first := 0; first < n; first += ahead * e.Local {
		var us, vs []kernel.Value
		for at := first; at < min(n, first+ahead*e.Local); at += e.Local {
			u := e.Add(e.Invocation(), e.Index(at))
			if at+e.Local > n {
				u = e.Min(u, e.Index(n-1))
			}
			us, vs = append(us, u), append(vs, load(u))
		}
		for i, u := range us {
			at := first + i*e.Local
			if at+e.Local <= n {
				store(u, vs[i])
				continue
			}
			e.IfThen(e.IsLess(e.Add(e.Invocation(), e.Index(at)), e.Index(n)), func() { store(u, vs[i]) })
		}
	}
}

// SelectAll is xs if c holds, and else ys.
func (e *Emitter) SelectAll(c kernel.Value, xs, ys []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(xs))
	for i := range xs {
		out[i] = e.Select(c, xs[i], ys[i])
	}
	return out
}
