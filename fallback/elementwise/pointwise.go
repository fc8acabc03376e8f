package elementwise

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// scalar is the function of one element of a pointwise operation in a class. The field of
// the operation's arity is set; each, the function of one operand over a slice, has the
// bits of one where both are set. A comparison gives 0 or 1.
type scalar[C dense.Class] struct {
	one   func(x C) C
	each  func(x []C)
	Two   func(x, y C) C
	three func(x, y, z C) C
}

func (s *scalar[C]) Exists() bool {
	return s.one != nil || s.each != nil || s.Two != nil || s.three != nil
}

// Scalars has the functions of a class, by operation.
type Scalars[C dense.Class] [ops.Count]scalar[C]

// Kernels has all pointwise operations. SelectKernels and BitKernels, which compute in no
// class, replace some of them.
var Kernels = func() map[ops.Op]dense.Kernel {
	t := make(map[ops.Op]dense.Kernel)
	for op := range ops.Count {
		if op.Info().Kind == ops.Pointwise {
			t[op] = Pointwise
		}
	}
	return t
}()

// Pointwise carries out an operation whose elements are independent. It reads
// operands in chunks into the class of computation, applies the operation's
// function, and stores.
func Pointwise(in *dense.Call, args, outs []dense.Value) error {
	if runBinary(in, args, &outs[0]) || runUnary(in, args, &outs[0]) {
		return nil
	}
	switch ClassOf(in, args) {
	case ops.Float:
		return elements(in, &FloatScalars, args, &outs[0])
	case ops.Signed:
		if f, differs := mixed(in, args); differs {
			return elementsBy(in, &f, args, &outs[0])
		}
		return elements(in, &IntScalars, args, &outs[0])
	case ops.Unsigned:
		return elements(in, &UintScalars, args, &outs[0])
	}
	return elements(in, &ComplexScalars, args, &outs[0])
}

// ClassOf returns the class in which an instruction computes: complex if an operand is
// complex; for a comparison, the class of the merged operands; else the class of the
// result.
func ClassOf(in *dense.Call, args []dense.Value) ops.Class {
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

// Job is one pointwise computation over a plan.
type Job[C dense.Class] struct {
	Plan  *dense.Plan
	Fn    *scalar[C]
	Loads [dense.MaxOperands]dense.Loader[C]
	Srcs  [dense.MaxOperands][]byte
	Arity int
	Store dense.Storer[C]
	Dst   []byte
}

// elements computes an instruction in the class of a table.
func elements[C dense.Class](in *dense.Call, table *Scalars[C], args []dense.Value, out *dense.Value) error {
	return elementsBy(in, &table[in.Op], args, out)
}

// elementsBy computes an instruction by the function of an element.
func elementsBy[C dense.Class](in *dense.Call, fn *scalar[C], args []dense.Value, out *dense.Value) error {
	j := Job[C]{Fn: fn, Arity: len(args), Store: dense.StoreAs[C](out.Type.DType), Dst: out.Data}
	if !j.Fn.Exists() {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, NoClass[C]())
	}
	for k := range args {
		j.Loads[k], j.Srcs[k] = dense.LoadAs[C](args[k].Type.DType), args[k].Data
	}
	s := dense.ScratchPool.Get().(*dense.Scratch)
	defer dense.ScratchPool.Put(s)
	s.Plan.Broadcast(out.Type.Shape, args)
	j.Plan = &s.Plan
	if s.Plan.N < dense.ParallelMin {
		j.Run(s, 0, s.Plan.N)
		return nil
	}
	shared := j // the goroutines' copy; small calls keep theirs on the stack
	dense.Parallel(in.Worker, s.Plan.N, functionCost, func(lo, hi int) {
		own := dense.ScratchPool.Get().(*dense.Scratch)
		shared.Run(own, lo, hi)
		dense.ScratchPool.Put(own)
	})
	return nil
}

// functionCost is the work of a function of one element, in elements that are copied.
const functionCost = 4

// NoClass returns the error of an operation that has no function in a class.
func NoClass[C dense.Class]() error {
	var c C
	if _, is := any(c).(complex128); is {
		return dense.ErrComplex
	}
	return dense.ErrUnsupported
}

func (j *Job[C]) Run(s *dense.Scratch, lo, hi int) {
	b := dense.Buffers[C](s)
	c := &s.Cur
	c.Seek(j.Plan, lo)
	for lo < hi {
		n := c.Ahead(min(dense.Chunk, hi-lo))
		for k := range j.Arity {
			j.Loads[k](b[k][:n], j.Srcs[k], c.At[k], j.Plan.Steps[0][k])
		}
		j.apply(b[0][:n], b[1][:n], b[2][:n])
		j.Store(j.Dst, lo, b[0][:n])
		c.Advance(n)
		lo += n
	}
}

// apply computes a chunk in x.
func (j *Job[C]) apply(x, y, z []C) {
	switch j.Arity {
	case 1:
		if j.Fn.each != nil {
			j.Fn.each(x)
			return
		}
		f := j.Fn.one
		for i, v := range x {
			x[i] = f(v)
		}
	case 2:
		f := j.Fn.Two
		for i, v := range x {
			x[i] = f(v, y[i])
		}
	default:
		f := j.Fn.three
		for i, v := range x {
			x[i] = f(v, y[i], z[i])
		}
	}
}
