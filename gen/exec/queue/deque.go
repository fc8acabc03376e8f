package queue

import "slices"

// Deque is a list that grows at its end and shrinks and grows at its front. Each takes constant
// time on average: at the front that of as many elements as have left it. The zero Deque is
// empty.
type Deque[T any] struct {
	list []T
	head int // elements of the list that have left it
}

// kept is how much room an empty Deque keeps.
const kept = 64

// Len returns how many elements there are.
func (d *Deque[T]) Len() int { return len(d.list) - d.head }

// At returns an element, the first at 0. It is valid until the next change.
func (d *Deque[T]) At(i int) *T { return &d.list[d.head+i] }

// All lists the elements, to be changed in their place.
func (d *Deque[T]) All() []T { return d.list[d.head:] }

// Push adds an element at the end.
func (d *Deque[T]) Push(x T) {
	if len(d.list) == cap(d.list) && d.head > len(d.list)/2 {
		n := copy(d.list, d.All())
		clear(d.list[n:])
		d.list, d.head = d.list[:n], 0
	}
	d.list = append(d.list, x)
}

// PushFront adds an element before all others.
func (d *Deque[T]) PushFront(x T) {
	if d.head == 0 {
		d.list = slices.Insert(d.list, 0, x)
		return
	}
	d.head--
	d.list[d.head] = x
}

// Pop removes the first element, where there is one.
func (d *Deque[T]) Pop() {
	if d.Len() == 0 {
		return
	}
	var none T
	d.list[d.head] = none
	if d.head++; d.Len() > 0 {
		return
	}
	if d.list, d.head = d.list[:0], 0; cap(d.list) > kept {
		d.list = nil
	}
}
