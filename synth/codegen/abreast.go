package codegen

import (
	"fmt"
	"strings"

	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Abreast is the program whose workgroups carry out those of several programs: the first ones those of the first
// program, the next ones those of the second (horizontal fusion of kernels, Li et al. 2022). So programs that do not
// depend on one another take one dispatch. A buffer that several of them read is one buffer.
//
// The programs must agree on the size of a workgroup, or be fitted to that of the largest. ok is false where one of them
// cannot be.
func Abreast(programs []*Program) (p *Program, ok bool) {
	a := &abreast{programs: programs}
	p = &Program{Index: programs[0].Index, Body: a.write}
	for _, q := range programs {
		if q.Fit == nil {
			p.Local = max(p.Local, q.Local)
		}
	}
	if p.Local == 0 { // all of them take any size
		p.Local = programs[0].Local
	}
	key := []string{"abreast"}
	for _, q := range programs {
		groups := q.Groups
		switch {
		case q.Index != p.Index:
			return nil, false
		case q.Fit != nil:
			groups = q.Fit(int(p.Local))
		case q.Local != p.Local:
			return nil, false
		}
		if groups < 1 {
			return nil, false
		}
		places := a.share(p, q)
		a.places = append(a.places, places)
		p.Groups += groups
		p.Numbers = append(append(p.Numbers, groups), q.Numbers...)
		p.Literals, p.Flops, p.Bytes = append(p.Literals, q.Literals...), p.Flops+q.Flops, p.Bytes+q.Bytes
		key = append(key, fmt.Sprintf("%v %s", places, q.Key))
	}
	p.Key = strings.Join(key, "; ")
	return p, true
}

// abreast is the body of an Abreast.
type abreast struct {
	programs []*Program
	places   [][]int // of the buffers of each program
}

// share adds the buffers of q to p, but for those that p reads as well, and returns their places.
func (a *abreast) share(p, q *Program) (places []int) {
	for _, b := range q.Buffers {
		places = append(places, p.buffer(b))
	}
	return places
}

// buffer is the number of a buffer that the program gets, unless it reads the same already.
func (p *Program) buffer(b Buffer) int {
	for i, o := range p.Buffers {
		if o.Ref == b.Ref && o.Elem == b.Elem && o.Pair == b.Pair && o.Access == lowering.Read && b.Access == lowering.Read {
			p.Buffers[i].Bytes = max(o.Bytes, b.Bytes)
			return i
		}
	}
	p.Buffers = append(p.Buffers, b)
	return len(p.Buffers) - 1
}

func (a *abreast) write(e *Emitter) (err error) {
	group, first := e.Group(), e.Index(0)
	shared := &sharedArrays{}
	for i, q := range a.programs {
		own := *e
		own.Buffers, own.places = q.Buffers, nil
		for _, at := range a.places[i] {
			own.places = append(own.places, e.place(at))
		}
		n := e.NextNumber()
		own.take(e, q)
		next := e.Add(first, n)
		mine := e.IsLess(group, next)
		if i > 0 {
			mine = e.And2(mine, e.Not(e.IsLess(group, first)))
		}
		own.group, own.repeats, own.shared = e.Sub(group, first), true, shared.again()
		e.When(mine, func() {
			if failed := q.Body(&own); failed != nil {
				err = failed
			}
		})
		first = next
	}
	return err
}

// sharedArrays are the shared arrays of a kernel whose workgroups each carry out one of several parts. All parts use
// the same arrays.
type sharedArrays struct{ list []sharedArray }

type sharedArray struct {
	typ    scalar.Type
	size   int
	number int
	taken  bool // by the part that is being written
}

// again begins a part.
func (s *sharedArrays) again() *sharedArrays {
	for i := range s.list {
		s.list[i].taken = false
	}
	return s
}

// Shared is Builder.Shared.
func (e *Emitter) Shared(t scalar.Type, n int) int {
	if e.shared == nil {
		return e.Builder.Shared(t, n)
	}
	for i := range e.shared.list {
		if a := &e.shared.list[i]; a.typ == t && a.size >= n && !a.taken {
			a.taken = true
			return a.number
		}
	}
	number := e.Builder.Shared(t, n)
	e.shared.list = append(e.shared.list, sharedArray{t, n, number, true})
	return number
}
