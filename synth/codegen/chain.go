package codegen

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Stage is a program that a workgroup of a chain carries out.
type Stage struct {
	*Program
	// Held has, for each buffer, the shared array that takes its place, or InMemory.
	Held []int
	// Own says that a workgroup of the chain carries out the workgroup of the stage that has its own number, alone: the
	// shared array has what that makes.
	Own bool
}

// InMemory stands for no array.
const InMemory = -1

// Array is a shared array: so many elements of a kind.
type Array struct {
	Elem kernel.Elem
	Size int
	Own  bool // a stage that is Own makes it
}

func (a Array) bytes() int { return a.Size * kernel.TypeSize(a.Elem.Type()) }

// Chain is the program whose workgroups carry out several stages, one after the other. Each workgroup carries out
// every stage but the last as a whole, with all its workgroups, so what these store in shared arrays is there for the
// stages behind them. The workgroups of the last stage are those of the chain.
//
// What the last stage does early, or the first that is Own, it does before the others.
//
// The stages must agree on the size of a workgroup: the last one has its own, and the others are fitted to that. ok is
// false where one of them cannot be, or the arrays take too much room.
func Chain(t *lowering.Target, stages []Stage, arrays []Array) (p *Program, ok bool) {
	last := stages[len(stages)-1]
	c := &chain{stages: stages, arrays: arrays}
	p = &Program{Local: last.Local, Index: last.Index, Groups: last.Groups, Body: c.write}
	key := []string{"chain"}
	bytes := 0
	for _, a := range arrays {
		if !a.Own { // a workgroup makes few results of its own
			bytes += a.bytes()
		}
		key = append(key, fmt.Sprintf("%v[%d]", a.Elem, a.Size))
		if !t.Narrow(a.Elem) {
			return nil, false
		}
	}
	for i := range stages {
		s := &stages[i]
		if s.Own {
			if s.Local != p.Local || s.Groups != p.Groups || s.Halves == nil || last.Halves == nil {
				return nil, false
			}
			key = append(key, "own")
		} else if i > 0 && i < len(stages)-1 && stages[i-1].Own {
			return nil, false
		} else if i < len(stages)-1 {
			groups := -1
			if s.Fit != nil {
				groups = s.Fit(int(p.Local))
			}
			if groups < 1 || int64(groups)*int64(p.Groups) > maxRepeated {
				return nil, false
			}
			p.Numbers = append(p.Numbers, groups)
		}
		if s.Index != p.Index {
			return nil, false
		}
		p.Numbers, p.Literals = append(p.Numbers, s.Numbers...), append(p.Literals, s.Literals...)
		p.Flops, p.Bytes = p.Flops+s.Flops, p.Bytes+s.Bytes
		key = append(key, fmt.Sprintf("%v %s", s.Held, s.Key))
		for k, b := range s.Buffers {
			if s.Held[k] == InMemory {
				p.Buffers = append(p.Buffers, b)
				continue
			}
			if b.Pair {
				return nil, false
			}
			p.Bytes -= min(p.Bytes, b.Bytes)
		}
	}
	p.Key = strings.Join(key, "; ")
	return p, bytes <= t.SharedMemory/3
}

// maxRepeated bounds the workgroups of a stage, over all workgroups of the chain that carry it out: with many more than a
// device has at once, each would wait for the stage anew.
const maxRepeated = 1 << 9

// chain is the body of a Chain.
type chain struct {
	stages []Stage
	arrays []Array
}

func (c *chain) write(e *Emitter) error {
	var shared []int
	for _, a := range c.arrays {
		shared = append(shared, e.Shared(a.Elem.Type(), a.Size))
	}
	var emitters []*Emitter
	var bodies []func() error
	scratch := &sharedArrays{}
	begins := make([]kernel.Value, len(shared)) // of the arrays that the workgroup makes of its own
	buffer := 0
	for i := range c.stages {
		s := &c.stages[i]
		o := *e
		o.Buffers, o.places = s.Buffers, nil
		for k, a := range s.Held {
			if a == InMemory {
				o.places = append(o.places, e.place(buffer))
				buffer++
				continue
			}
			o.places = append(o.places, -1-shared[a])
			if s.Own && s.Buffers[k].Access == lowering.Write {
				begins[a] = e.Mul(e.Group(), e.Index(s.Span(int(s.Local))))
			}
		}
		if o.begins = c.beginsOf(e, s, begins); o.begins != nil {
			o.shared = scratch // the sums of one product, and then those of the other
		}
		body := func() error { return s.Body(&o) }
		if i < len(c.stages)-1 && !s.Own {
			n := e.NextNumber()
			body = func() error { return o.repeat(n, s.Body) }
		}
		o.take(e, s.Program)
		emitters, bodies = append(emitters, &o), append(bodies, body)
	}
	last := len(c.stages) - 1
	if own := slices.IndexFunc(c.stages, func(s Stage) bool { return s.Own }); own >= 0 {
		return c.together(e, emitters, bodies[:own], scratch)
	}
	if early := c.stages[last].Early; early != nil {
		bodies[last] = early(emitters[last])
	}
	return inOrder(bodies)
}

func inOrder(bodies []func() error) error {
	for _, body := range bodies {
		if err := body(); err != nil {
			return err
		}
	}
	return nil
}

// together writes stages that are Own, and the last one, behind the others: the first halves of all, and then the second ones.
func (c *chain) together(e *Emitter, emitters []*Emitter, others []func() error, scratch *sharedArrays) error {
	var halves []func() func() error
	for i := len(others); i < len(emitters); i++ {
		halves = append(halves, c.stages[i].Halves(emitters[i], i == len(others)))
	}
	if err := inOrder(others); err != nil {
		return err
	}
	var seconds []func() error
	for _, first := range halves {
		seconds = append(seconds, first())
	}
	for i, second := range seconds {
		if i > 0 {
			e.Barrier()
		}
		scratch.again()
		if err := second(); err != nil {
			return err
		}
	}
	return nil
}

// beginsOf are the elements of the buffers of a stage that are the first of their arrays.
func (c *chain) beginsOf(e *Emitter, s *Stage, begins []kernel.Value) (list []kernel.Value) {
	if !slices.ContainsFunc(s.Held, func(a int) bool { return a != InMemory && c.arrays[a].Own }) {
		return nil
	}
	for _, a := range s.Held {
		at := e.Index(0)
		if a != InMemory && c.arrays[a].Own {
			at = begins[a]
		}
		list = append(list, at)
	}
	return list
}

// repeat carries out n workgroups of a program, one after the other.
func (e *Emitter) repeat(n kernel.Value, body func(*Emitter) error) (err error) {
	numbers, literals := e.nums, e.Lits
	e.Loop(e.Index(0), n, e.Index(1), nil, func(g kernel.Value, _ []kernel.Value) []kernel.Value {
		one := *e
		one.nums, one.Lits, one.group, one.repeats = numbers, literals, g, true
		err = body(&one)
		e.Barrier()
		return nil
	})
	return err
}

// take moves the parameters of a program from one emitter to another.
func (e *Emitter) take(from *Emitter, p *Program) {
	literals := 0
	for _, l := range p.Literals {
		literals += PartsOf(l.As)
	}
	e.nums, from.nums = from.nums[:len(p.Numbers)], from.nums[len(p.Numbers):]
	e.Lits, from.Lits = from.Lits[:literals], from.Lits[literals:]
}

// Behind is the emitter for code that has the buffers from number n on.
func (e *Emitter) Behind(n int) *Emitter {
	own := *e
	own.Buffers = e.Buffers[n:]
	if e.begins != nil {
		own.begins = e.begins[n:]
	}
	for i := n; i < len(e.Buffers); i++ {
		own.places = append(own.places[:i-n:i-n], e.place(i))
	}
	return &own
}

// place is the number of a buffer in the kernel, or that of the shared array in its place, below 0.
func (e *Emitter) place(buf int) int {
	if e.places == nil {
		return buf
	}
	return e.places[buf]
}

// held is the shared array that takes the place of a buffer, if there is one.
func (e *Emitter) held(buf int) (array int, ok bool) {
	n := e.place(buf)
	return -1 - n, n < 0
}

// Held reports whether a shared array takes the place of a buffer.
func (e *Emitter) Held(buf int) bool {
	_, ok := e.held(buf)
	return ok
}

// Load is Builder.Load of a buffer that a shared array may take the place of.
func (e *Emitter) Load(buf int, at kernel.Value, n int) []kernel.Value {
	array, ok := e.held(buf)
	if !ok {
		return e.Builder.Load(e.place(buf), at, n)
	}
	var vs []kernel.Value
	for i := range n {
		vs = append(vs, e.LoadShared(array, e.elementOf(buf, at, n, i)))
	}
	return vs
}

// Store is Builder.Store likewise. A shared array has words, so of a narrow element it gets the bits that memory would keep.
func (e *Emitter) Store(buf int, at kernel.Value, vs ...kernel.Value) {
	array, ok := e.held(buf)
	if !ok {
		e.Builder.Store(e.place(buf), at, vs...)
		return
	}
	elem := e.Buffers[buf].Elem
	for i, v := range vs {
		if elem.Size() < 4 {
			v = e.widen(elem, v)
		}
		e.StoreShared(array, e.elementOf(buf, at, len(vs), i), v)
	}
}

// elementOf is the place of element i of a group of n in the shared array of a buffer.
func (e *Emitter) elementOf(buf int, at kernel.Value, n, i int) kernel.Value {
	at = e.Add(e.Mul(at, e.Index(n)), e.Index(i))
	if e.begins != nil {
		at = e.Sub(at, e.begins[buf])
	}
	return e.Convert(at, scalar.U32)
}

// LoadWord is Builder.LoadWord of a buffer in memory.
func (e *Emitter) LoadWord(buf int, at kernel.Value) kernel.Value {
	return e.Builder.LoadWord(e.place(buf), at)
}

// AddBuffer is Builder.AddBuffer of a buffer in memory.
func (e *Emitter) AddBuffer(buf int, at, v kernel.Value) { e.Builder.AddBuffer(e.place(buf), at, v) }
