package elementwise

import (
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// layout says which points a step computes.
type layout uint8

const (
	whole  layout = iota // neighbours of a row, from a multiple of the group on, which divides the row
	across               // neighbours of the whole space, which is dense in the output: they may be of two rows
	rows                 // neighbours of a row that is anywhere in the output, from one of its multiples of the group on
	apart                // points as far apart as the workgroup is large: results are not contiguous
)

var layoutNames = [...]string{whole: "whole", across: "across", rows: "rows", apart: "apart"}

// access says how the elements of a group are loaded.
type access uint8

const (
	plain      access = iota // one element for the group
	vector                   // at once: the first is at a multiple of the group
	linear                   // as the output of layout across lies, at once
	linearSpan               // the same from an offset that the group does not divide
	span                     // neighbours from any element on
	backward                 // the same in reverse
	each                     // one by one
)

var accessNames = [...]string{plain: "", vector: "", linear: " linear", linearSpan: " linear span", span: " span",
	backward: " backward", each: " each"}

// GPUs: operations and values of a step, beyond which its group is four at most. Drivers
// compile longer ones for long, and they do not wait for memory.
const (
	longStep = 1024
	wideStep = 96
)

// apartGroup is the number of points of a step that are apart: as many loads are on their way
// at once.
const apartGroup = 4

// wants returns the group of a job whose strides allow any.
func (j *Job) wants(t *lowering.Target) int {
	if t.CPU {
		return 4
	}
	widest, values := j.Result.Size(), j.Result.Parts()
	for i := range j.MoreResults {
		widest, values = max(widest, j.MoreResults[i].Size()), values+j.MoreResults[i].Parts()
	}
	for i := range j.Sources {
		if s := &j.Sources[i]; s.Kind == codegen.FromBuffer {
			if !t.Narrow(s.Buffer.Elem) {
				widest = max(widest, 4) // cut out of words, and no result is narrow
			}
			widest, values = max(widest, s.Buffer.Size()), values+s.Parts()
		}
	}
	g := 16 / widest
	for g > 4 && (g*j.Cost > longStep || g*values > wideStep) {
		g /= 2
	}
	return g
}

// arrange chooses the group, the layout and the accesses. A processor has whole groups of
// vectors, or one point a step.
func (j *Job) arrange(t *lowering.Target) {
	r, n := len(j.Dims)-1, j.Dims[len(j.Dims)-1]
	j.Group, j.layout, j.accesses = j.wants(t), whole, nil
	if t.CPU {
		if j.Long || n < j.Group || (r > 0 && n%j.Group != 0) || !j.vectors() {
			j.Group = 1
		}
		j.chooseAccesses()
		return
	}
	g, points := j.Group, strided.Product(j.Dims)
	contiguous := j.Out.Strides[r] == 1 && len(j.OutShifts) == 0
	dense := contiguous && points >= g && j.Out.Offset%g == 0 && j.dense(&j.Out)
	switch {
	case j.Long:
		j.Group = 1
	case j.Loose:
		j.layout, j.Group = apart, apartGroup
	case g > 1 && n%g == 0 && j.stores(g) && !(dense && r == 0): // of one dimension all lengths share a kernel
	case g > 1 && dense:
		j.layout, j.short = across, n < g
	case g > 1 && contiguous && (n >= 4*g || r == 0 && n >= g):
		j.layout = rows
	default:
		j.layout, j.Group = apart, apartGroup
	}
	j.chooseAccesses()
}

// units is the number of steps that the job takes.
func (j *Job) units() int {
	points := strided.Product(j.Dims)
	switch {
	case j.layout == apart:
		return points
	case j.layout == rows:
		return points / j.Dims[len(j.Dims)-1] * j.rowGroups()
	}
	return (points + j.Group - 1) / j.Group
}

// rowGroups is how many groups of the output a row has a part of, at most.
func (j *Job) rowGroups() int { return (j.Dims[len(j.Dims)-1] + 2*j.Group - 2) / j.Group }

// stores reports whether every step can store its results at once.
func (j *Job) stores(g int) bool {
	r := len(j.Dims) - 1
	return strided.Vectorized(&j.Out, r, g) && j.together(&j.Out, j.OutShifts, g)
}

// vectors reports whether all views but those of one element a row are stored and loaded
// at once.
func (j *Job) vectors() bool {
	r := len(j.Dims) - 1
	if !j.stores(j.Group) {
		return false
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		if s.Kind == codegen.FromBuffer && s.Strides[r] != 0 && !strided.Vectorized(&s.View, r, j.Group) ||
			s.HasView() && !j.together(&s.View, s.Shifts, j.Group) {
			return false
		}
	}
	return true
}

// dense reports whether a view walks the space without a gap, from its offset on.
func (j *Job) dense(v *strided.View) bool {
	stride := 1
	for i := len(j.Dims) - 1; i >= 0; i-- {
		if v.Strides[i] != stride {
			return false
		}
		stride *= j.Dims[i]
	}
	return true
}

// chooseAccesses says how each source is loaded.
func (j *Job) chooseAccesses() {
	j.accesses = make([]access, len(j.Sources))
	if j.Group == 1 {
		return
	}
	r := len(j.Dims) - 1
	for i := range j.Sources {
		s := &j.Sources[i]
		if !s.HasView() {
			continue
		}
		a, inner := &j.accesses[i], s.Strides[r]
		switch {
		case j.layout == apart || j.varies(s.Shifts):
			*a = each
		case s.Kind == codegen.FromIndex || inner == 0:
			*a = plain
		case j.layout == whole && strided.Vectorized(&s.View, r, j.Group) && j.together(&s.View, s.Shifts, j.Group):
			*a = vector
		case j.layout == across && len(s.Shifts) == 0 && j.dense(&s.View):
			if *a = linear; s.Offset%j.Group != 0 {
				*a = linearSpan
			}
		case inner == 1:
			*a = span
		case inner == -1:
			*a = backward
		default:
			*a = each
		}
	}
}

// varies reports whether neighbours are shifted by indices of their own.
func (j *Job) varies(shifts []codegen.Shift) bool {
	r := len(j.Dims) - 1
	for _, h := range shifts {
		if s := &j.Sources[h.From]; s.HasView() && (s.Strides[r] != 0 || j.varies(s.Shifts)) {
			return true
		}
	}
	return false
}

// together reports whether the neighbours of a group are shifted as one, by multiples of
// the group.
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
