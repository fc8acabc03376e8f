package fallback

import (
	"fmt"

	"nxvk/ops"
)

// scalar is how one element of a pointwise operation computes in a class: the
// function of its arity is set. A comparison gives 0 or 1. each has a loop of its own
// and does what one does, where that is there too, to every element.
type scalar[C class] struct {
	one   func(x C) C
	each  func(x []C)
	two   func(x, y C) C
	three func(x, y, z C) C
}

func (s *scalar[C]) exists() bool {
	return s.one != nil || s.each != nil || s.two != nil || s.three != nil
}

// scalars has the functions of a class, by operation.
type scalars[C class] [ops.Count]scalar[C]

// pointwise carries out an operation whose elements are independent. It reads
// operands in chunks into the class of computation, applies the operation's
// function, and stores.
func pointwise(in *call, args, outs []Value) error {
	if fast(in, args, &outs[0]) || fastOne(in, args, &outs[0]) {
		return nil
	}
	switch classOf(in, args) {
	case ops.Float:
		return elements(in, &floatScalars, args, &outs[0])
	case ops.Signed:
		if f, differs := mixed(in, args); differs {
			return elementsBy(in, &f, args, &outs[0])
		}
		return elements(in, &intScalars, args, &outs[0])
	case ops.Unsigned:
		return elements(in, &uintScalars, args, &outs[0])
	}
	return elements(in, &complexScalars, args, &outs[0])
}

// classOf returns the class that an instruction computes in: that of its
// result, of the merged operands where it compares, and complex where an
// operand is.
func classOf(in *call, args []Value) ops.Class {
	d := in.Outs[0].Type.DType
	if in.Op.Info().Compare {
		d = args[0].Type.DType
		for i := range args[1:] {
			d = ops.Merge(d, args[i+1].Type.DType)
		}
	}
	for i := range args {
		if args[i].Type.DType.IsComplex() {
			return ops.Complex
		}
	}
	return d.Class()
}

// job is one pointwise computation over a plan.
type job[C class] struct {
	plan  *plan
	fn    *scalar[C]
	loads [maxOperands]loader[C]
	srcs  [maxOperands][]byte
	arity int
	store storer[C]
	dst   []byte
}

// elements computes an instruction in the class of a table.
func elements[C class](in *call, table *scalars[C], args []Value, out *Value) error {
	return elementsBy(in, &table[in.Op], args, out)
}

// elementsBy computes an instruction by the function of an element.
func elementsBy[C class](in *call, fn *scalar[C], args []Value, out *Value) error {
	j := job[C]{fn: fn, arity: len(args), store: storeAs[C](out.Type.DType), dst: out.Data}
	if !j.fn.exists() {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, noClass[C]())
	}
	for k := range args {
		j.loads[k], j.srcs[k] = loadAs[C](args[k].Type.DType), args[k].Data
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.plan.broadcast(out.Type.Shape, args)
	j.plan = &s.plan
	if s.plan.n < parallelMin {
		j.run(s, 0, s.plan.n)
		return nil
	}
	shared := j // the goroutines' copy; small calls keep theirs on the stack
	parallel(in.w, s.plan.n, functionCost, func(lo, hi int) {
		own := scratches.Get().(*scratch)
		shared.run(own, lo, hi)
		scratches.Put(own)
	})
	return nil
}

// functionCost is what an element of a function counts for, beside one that is copied.
const functionCost = 4

// noClass says why an operation has no function in a class.
func noClass[C class]() error {
	var c C
	if _, is := any(c).(complex128); is {
		return ErrComplex
	}
	return ErrUnsupported
}

func (j *job[C]) run(s *scratch, lo, hi int) {
	b := bufs[C](s)
	c := &s.cur
	c.seek(j.plan, lo)
	for lo < hi {
		n := c.run(min(chunk, hi-lo))
		for k := range j.arity {
			j.loads[k](b[k][:n], j.srcs[k], c.at[k], j.plan.steps[0][k])
		}
		j.apply(b[0][:n], b[1][:n], b[2][:n])
		j.store(j.dst, lo, b[0][:n])
		c.advance(n)
		lo += n
	}
}

// apply computes into x.
func (j *job[C]) apply(x, y, z []C) {
	switch j.arity {
	case 1:
		if j.fn.each != nil {
			j.fn.each(x)
			return
		}
		f := j.fn.one
		for i, v := range x {
			x[i] = f(v)
		}
	case 2:
		f := j.fn.two
		for i, v := range x {
			x[i] = f(v, y[i])
		}
	default:
		f := j.fn.three
		for i, v := range x {
			x[i] = f(v, y[i], z[i])
		}
	}
}
