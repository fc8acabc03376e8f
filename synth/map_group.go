package synth

// wants returns the group of a job whose strides allow any.
func (j *mapJob) wants(t *Target) int {
	if t.CPU {
		return 4
	}
	widest := j.to.size()
	for i := range j.also {
		widest = max(widest, j.also[i].size())
	}
	for i := range j.ins {
		if s := &j.ins[i]; s.kind == fromBuffer {
			if !t.narrow(s.buffer.elem) {
				return 4 // cut out of words
			}
			widest = max(widest, s.buffer.size())
		}
	}
	return min(4, 16/widest)
}

// choose returns the group: 1 where neighbours cannot be loaded and stored at
// once.
func (j *mapJob) choose(t *Target) int {
	r, g := len(j.dims)-1, j.wants(t)
	if j.long || j.dims[r] < g || (r > 0 && j.dims[r]%g != 0) || !vectored(&j.out, r, g) || j.out.strides[r] != 1 {
		return 1
	}
	if !j.together(&j.out, j.outShifts, g) {
		return 1
	}
	for i := range j.ins {
		s := &j.ins[i]
		if !s.walks() {
			continue
		}
		if s.kind == fromBuffer && s.strides[r] != 0 && !vectored(&s.view, r, g) || !j.together(&s.view, s.shifts, g) {
			return 1
		}
	}
	return g
}

// together reports whether the neighbours of a group are shifted as one.
func (j *mapJob) together(v *view, shifts []shift, g int) bool {
	r := len(j.dims) - 1
	for _, h := range shifts {
		index := &j.ins[h.from]
		if index.walks() && index.strides[r] != 0 || v.strides[r] != 0 && h.stride%g != 0 {
			return false
		}
	}
	return true
}

// vectored reports whether the rows of a view are dense and begin at multiples
// of a group.
func vectored(v *view, r, group int) bool {
	if v.strides[r] != 1 || v.offset%group != 0 {
		return false
	}
	for _, s := range v.strides[:r] {
		if s%group != 0 {
			return false
		}
	}
	return true
}
