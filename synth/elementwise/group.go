package elementwise

import (
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// wants returns the group of a job whose strides allow any.
func (j *Job) wants(t *lowering.Target) int {
	if t.CPU {
		return 4
	}
	widest := j.Result.Size()
	for i := range j.MoreResults {
		widest = max(widest, j.MoreResults[i].Size())
	}
	for i := range j.Sources {
		if s := &j.Sources[i]; s.Kind == codegen.FromBuffer {
			if !t.Narrow(s.Buffer.Elem) {
				return 4 // cut out of words
			}
			widest = max(widest, s.Buffer.Size())
		}
	}
	return min(4, 16/widest)
}

// choose returns the group: 1 where neighbours cannot be loaded and stored at
// once.
func (j *Job) choose(t *lowering.Target) int {
	r, g := len(j.Dims)-1, j.wants(t)
	if j.Long || j.Dims[r] < g || (r > 0 && j.Dims[r]%g != 0) || !strided.Vectorized(&j.Out, r, g) || j.Out.Strides[r] != 1 {
		return 1
	}
	if !j.together(&j.Out, j.OutShifts, g) {
		return 1
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		if !s.HasView() {
			continue
		}
		if s.Kind == codegen.FromBuffer && s.Strides[r] != 0 && !strided.Vectorized(&s.View, r, g) || !j.together(&s.View, s.Shifts, g) {
			return 1
		}
	}
	return g
}

// together reports whether the neighbours of a group are shifted as one.
func (j *Job) together(v *strided.View, shifts []codegen.Shift, g int) bool {
	r := len(j.Dims) - 1
	for _, h := range shifts {
		index := &j.Sources[h.From]
		if index.HasView() && index.Strides[r] != 0 || v.Strides[r] != 0 && h.Stride%g != 0 {
			return false
		}
	}
	return true
}
