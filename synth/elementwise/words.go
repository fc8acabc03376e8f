package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// AsWords makes a copy of elements one of words, n an element.
func (j *Job) AsWords(n int) {
	j.Dims = append(slices.Clone(j.Dims), n)
	last := len(j.Sources) - 1
	for i := range j.Sources[:last] {
		v := &j.Sources[i].View
		v.Strides = append(slices.Clone(v.Strides), 0)
	}
	s := &j.Sources[last]
	s.View, s.Shifts = inWords(s.View, n), shiftedWords(s.Shifts, n)
	j.Out, j.OutShifts = inWords(j.Out, n), shiftedWords(j.OutShifts, n)
}

func shiftedWords(shifts []codegen.Shift, n int) []codegen.Shift {
	shifts = slices.Clone(shifts)
	for i := range shifts {
		shifts[i].Stride *= n
	}
	return shifts
}

// inWords is a view that counts words, n an element, along a dimension more.
func inWords(v strided.View, n int) strided.View {
	w := strided.View{Offset: v.Offset * n}
	for _, s := range v.Strides {
		w.Strides = append(w.Strides, s*n)
	}
	w.Strides = append(w.Strides, 1)
	return w
}
