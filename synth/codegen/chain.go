package codegen

import (
	"fmt"
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
}

// InMemory stands for no array.
const InMemory = -1

// Array is a shared array: so many elements of a kind.
type Array struct {
	Elem kernel.Elem
	Size int
}

func (a Array) bytes() int { return a.Size * kernel.TypeSize(a.Elem.Type()) }

// Chain is the program whose workgroups carry out several stages, one after the other. Each workgroup carries out
// every stage but the last as a whole, with all its workgroups, so what these store in shared arrays is there for the
// stages behind them. The workgroups of the last stage are those of the chain.
//
// What the last stage does early, it does before the others.
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
		bytes += a.bytes()
		key = append(key, fmt.Sprintf("%v[%d]", a.Elem, a.Size))
		if !t.Narrow(a.Elem) {
			return nil, false
		}
	}
	for i := range stages {
		s := &stages[i]
		if i < len(stages)-1 {
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
	var own []*Emitter
	var groups []kernel.Value
	buffer := 0
	for i := range c.stages {
		s := &c.stages[i]
		o := *e
		o.Buffers, o.places = s.Buffers, nil
		for _, a := range s.Held {
			if a == InMemory {
				o.places = append(o.places, e.place(buffer))
				buffer++
			} else {
				o.places = append(o.places, -1-shared[a])
			}
		}
		if i < len(c.stages)-1 {
			groups = append(groups, e.NextNumber())
		}
		o.take(e, s.Program)
		own = append(own, &o)
	}
	last := len(c.stages) - 1
	rest := func() error { return c.stages[last].Body(own[last]) }
	if early := c.stages[last].Early; early != nil {
		rest = early(own[last])
	}
	for i, n := range groups {
		if err := own[i].repeat(n, c.stages[i].Body); err != nil {
			return err
		}
	}
	return rest()
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
