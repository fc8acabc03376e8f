package reduction

import "nxvk/synth/strided"

// operator is how a routine folds elements: it adds them up, or multiplies them.
type operator[T float32 | float64] struct {
	times    bool
	identity T
}

func operatorOf[T float32 | float64](times bool) operator[T] {
	if times {
		return operator[T]{times, 1}
	}
	return operator[T]{}
}

// begin sets totals to the identity.
func (o operator[T]) begin(acc []T) {
	for i := range acc {
		acc[i] = o.identity
	}
}

// join gives the total of those of components.
func (o operator[T]) join(l [strided.Components]T) T {
	if o.times {
		return (l[0] * l[1]) * (l[2] * l[3])
	}
	return (l[0] + l[1]) + (l[2] + l[3])
}

// whole folds the elements of a row, each component every fourth of them.
func (o operator[T]) whole(from []T) T {
	l := [strided.Components]T{o.identity, o.identity, o.identity, o.identity}
	n := len(from) / strided.Components * strided.Components
	fours, rest := from[:n], from[n:]
	if o.times {
		for ; len(fours) >= strided.Components; fours = fours[strided.Components:] {
			l[0] *= fours[0]
			l[1] *= fours[1]
			l[2] *= fours[2]
			l[3] *= fours[3]
		}
	} else {
		for ; len(fours) >= strided.Components; fours = fours[strided.Components:] {
			l[0] += fours[0]
			l[1] += fours[1]
			l[2] += fours[2]
			l[3] += fours[3]
		}
	}
	o.fold(l[:len(rest)], rest)
	return o.join(l)
}

// fold folds elements into as many totals.
func (o operator[T]) fold(acc, xs []T) {
	acc = acc[:len(xs)]
	if o.times {
		for i, x := range xs {
			acc[i] *= x
		}
		return
	}
	for len(xs) >= 4 {
		acc[0] += xs[0]
		acc[1] += xs[1]
		acc[2] += xs[2]
		acc[3] += xs[3]
		acc, xs = acc[4:], xs[4:]
	}
	for i, x := range xs {
		acc[i] += x
	}
}
