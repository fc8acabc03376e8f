package exec

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// digits are the operations that programs of number are made of.
var digits = []struct {
	op    ops.Op
	apply func(x, c float32) float32
}{
	{ops.Add, func(x, c float32) float32 { return x + c }},
	{ops.Subtract, func(x, c float32) float32 { return x - c }},
	{ops.Max, func(x, c float32) float32 { return max(x, c) }},
	{ops.Min, func(x, c float32) float32 { return min(x, c) }},
}

// number is a program of its own for each n: an operation for each digit of n in
// base 4, on a vector whose length follows from n, too.
func number(n int) (p *ops.Region, apply func(x float32) float32) {
	v := f32(2 + n%3)
	p = &ops.Region{Params: []ops.Result{res(1, v)}}
	var list []func(x float32) float32
	last := ops.ID(1)
	for m := n + 4; m > 0; m /= 4 {
		d, c := digits[m%4], float32(n%7)-3
		p.Body = append(p.Body, op(d.op, res(last+1, v), ref(last), scalar(c)))
		list = append(list, func(x float32) float32 { return d.apply(x, c) })
		last++
	}
	p.Values = uses(last)
	return p, func(x float32) float32 {
		for _, f := range list {
			x = f(x)
		}
		return x
	}
}

func key(n int) string { return fmt.Sprint("number ", n) }

// forget lets go of programs.
func (r *rig) forget(q *Queue, keys ...string) {
	r.exec.Stream(q, []wire.Instr{{Name: "forget", Instr: ops.Instr{Op: ops.Forget}, Defines: wire.Defines{Keys: keys}}})
}

// TestForget: a program is there until it is forgotten, and can be defined again
// under the same key. What runs when it is forgotten is not disturbed.
func TestForget(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 1, 2)
		r.Define(q, "p", simple(ops.Negate))
		r.run(q, "p", []ops.Result{res(2, f32(2))}, ref(1))
		r.forget(q, "p", "never defined")
		r.run(q, "p", []ops.Result{res(3, f32(2))}, ref(1))
		r.Define(q, "p", simple(ops.Abs))
		r.run(q, "p", []ops.Result{res(4, f32(2))}, ref(2))
		r.Want(q, 2, -1, -2)
		r.WantKind(q, 3, wire.UnknownProgram)
		r.Want(q, 4, 1, 2)
		if programs, steps := q.programs.Len(); programs != 1 || steps != 1 {
			t.Errorf("%d programs of %d instructions", programs, steps)
		}
	})
}

func simple(o ops.Op) *ops.Region {
	return &ops.Region{Params: []ops.Result{res(1, f32(2))}, Values: uses(2),
		Body: []ops.Instr{op(o, res(2, f32(2)), ref(1))}}
}

// TestForgetWhatWaits: a run that waits for another one has the program that was
// defined when it was sent, whatever becomes of the key meanwhile.
func TestForgetWhatWaits(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		one := func(o ops.Op) *ops.Region {
			return &ops.Region{Params: []ops.Result{res(1, f32())}, Values: uses(2), Body: []ops.Instr{op(o, res(2, f32()), ref(1))}}
		}
		r.Define(q, "p", one(ops.Negate))
		r.ask(q, 1, scalar(1))
		r.run(q, "p", []ops.Result{res(2, f32())}, ref(1))
		r.forget(q, "p", "asks")
		r.run(q, "p", []ops.Result{res(3, f32())}, ref(1))
		r.Define(q, "p", one(ops.Abs))
		r.run(q, "p", []ops.Result{res(4, f32())}, ref(2))
		answer(1, 10)
		r.Want(q, 2, -11)
		r.WantKind(q, 3, wire.UnknownProgram)
		r.Want(q, 4, 11)
	})
}

// TestEvict: above its bounds a session keeps the programs that have run last, the
// latest whatever its size; others are unknown, and can be defined again.
func TestEvict(t *testing.T) {
	rigs(t, func(r *rig) {
		r.exec.library.bounds.Programs = 8
		q := r.session()
		r.Tensor(q, 1, 1, 2)
		for n := range 100 {
			if n > 0 {
				r.run(q, "0", []ops.Result{res(2, f32(2))}, ref(1))
			}
			r.Define(q, fmt.Sprint(n), simple(ops.Negate))
			if have, steps := q.programs.Len(); have > 8 || have != steps {
				t.Fatalf("%d programs of %d instructions", have, steps)
			}
		}
		r.Want(q, 2, -1, -2)
		r.run(q, "50", []ops.Result{res(3, f32(2))}, ref(1))
		r.WantKind(q, 3, wire.UnknownProgram)
		r.exec.library.bounds.Steps = 3
		r.Define(q, "large", doubling(2)) // of 5 instructions
		r.run(q, "large", []ops.Result{res(4, f32(2)), res(5, f32())}, ref(1), scalar(6), scalar(0))
		r.Want(q, 4, 2, 4)
		if n, _ := q.programs.Len(); n != 1 {
			t.Errorf("%d programs beside one that is larger than all may be", n-1)
		}
	})
}

// TestForever: a client that compiles for ever takes no more memory than the caches
// have, and programs that it runs again after others give what they gave.
func TestForever(t *testing.T) {
	rigs(t, func(r *rig) {
		const programs, kept = 150, 24
		e := r.exec
		e.recorder.signatures.Max, e.library.bounds.Programs = kept, kept
		e.kernels.Bound(kept, kept)
		own := 0 // pipelines of the device itself
		if r.Dev != nil {
			own = r.Dev.Stats().Kernels
		}
		q := r.session()
		r.Tensor(q, 1, 1.5, -2, 8, 3)
		random := rand.New(rand.NewPCG(3, 14))
		for i := range programs {
			n := i
			if random.IntN(3) == 0 {
				n = random.IntN(i + 1)
			}
			r.number(q, n)
			r.bounded(kept)
		}
		r.forget(q, slices.Collect(func(yield func(string) bool) {
			for n := range programs {
				yield(key(n))
			}
		})...)
		if programs, steps := q.programs.Len(); programs != 0 || steps != 0 {
			t.Errorf("%d programs of %d instructions are left", programs, steps)
		}
		if r.Dev == nil {
			return
		}
		e.kernels.FreeRetired()
		r.Built()
		_, have, _ := e.kernels.Len()
		if n := r.Dev.Stats().Kernels - own; n > have {
			t.Errorf("there are %d pipelines of %d kernels", n, have)
		}
		if made := r.Dev.Stats().Pipelines; made <= 2*kept {
			t.Errorf("%d pipelines were made; the test is to need many more than %d", made, kept)
		}
	})
}

// number defines a program and runs it until it has its fusions, and then as fusions.
func (r *rig) number(q *Queue, n int) {
	r.Helper()
	p, apply := number(n)
	t := p.Params[0].Type
	r.Do(q, ops.Slice, 2, t, [][]int{{0}, t.Shape, {1}}, ref(1))
	x, err := r.Read(q, 2, 0, t.Size())
	if err != nil {
		r.Fatal(err)
	}
	for i := range x {
		x[i] = apply(x[i])
	}
	r.Define(q, key(n), p)
	for range 3 {
		r.run(q, key(n), []ops.Result{res(3, t)}, ref(2))
		r.Want(q, 3, x...)
		r.Built()
	}
	r.Free(q, 3)
	r.Free(q, 2)
}

// drain runs the completions that are there.
func (r *rig) drain() {
	for {
		select {
		case f := <-r.Posted:
			f()
		default:
			return
		}
	}
}

// bounded checks that no cache has grown over its bound.
func (r *rig) bounded(most int) {
	r.Helper()
	e := r.exec
	plans, compiled, retired := e.kernels.Len()
	sizes := []int{plans, e.recorder.signatures.Len(), compiled}
	for _, q := range e.queues.bySession {
		programs, _ := q.programs.Len()
		sizes = append(sizes, programs)
	}
	if slices.Max(sizes) > most || retired > kernels.RetireAtOnce {
		r.Fatalf("plans, forms, kernels and programs: %v, of at most %d; %d pipelines to destroy", sizes, most, retired)
	}
}

// TestForeverLong: 100,000 programs on the bounds that a node has.
func TestForeverLong(t *testing.T) {
	if os.Getenv("TEST_FULL") == "" {
		t.Skip("TEST_FULL is not set")
	}
	r := newRig(t, nil)
	q := r.session()
	r.Tensor(q, 1, 1.5, -2, 8, 3)
	var first uint64
	for n := range 100_000 {
		r.number(q, n)
		r.drain()
		if n%10_000 == 9_999 {
			heap := live()
			t.Logf("%d programs: %d MiB", n+1, heap>>20)
			if n < 2*program.MaxPrograms {
				first = heap
			} else if heap > first+first/2 {
				t.Fatalf("after %d programs %d bytes are in use; after %d it was %d", n+1, heap, 2*program.MaxPrograms, first)
			}
		}
	}
	if have, _ := q.programs.Len(); have > program.MaxPrograms {
		t.Errorf("%d programs", have)
	}
}

// live is how many bytes of Go's heap are in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSpecializationsOfLiterals: a program keeps a few specialisations, whichever of its many
// parameters are literals.
func TestSpecializationsOfLiterals(t *testing.T) {
	rigs(t, func(r *rig) {
		const params = 10
		p := &ops.Region{Params: []ops.Result{res(1, f32())}}
		for i := range ops.ID(params - 1) {
			p.Params = append(p.Params, res(2+i, f32()))
			p.Body = append(p.Body, op(ops.Add, res(100+i, f32()), ref(max(1, 99+i)*min(1, i)+1*(1-min(1, i))), ref(2+i)))
		}
		p.Values = uses(100 + params - 2)
		q := r.session()
		r.Define(q, "p", p)
		for mask := range 1 << params {
			ins := make([]ops.Operand, params)
			sum := float32(0)
			for i := range ins {
				x := float32(i + mask)
				sum += x
				if ins[i] = scalar(x); mask>>i&1 == 1 {
					r.Do(q, ops.Tensor, ops.ID(1+i), f32(), nil, ops.Operand{Lit: &ops.Literal{Type: f32(), Data: floats(x)}})
					ins[i] = ref(ops.ID(1 + i))
				}
			}
			r.run(q, "p", []ops.Result{res(50, f32())}, ins...)
			if mask%64 == 0 {
				r.Want(q, 50, sum)
			}
			if n := q.programs.Find("p").Specialized(); n > program.MaxSpecializations {
				t.Fatalf("%d specialisations", n)
			}
		}
		r.Built()
	})
}
