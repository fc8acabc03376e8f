package elementwise

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/strided"
)

// Describe is the key of the program.
func (j *Job) Describe(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "map %s rank=%d group=%d steps=%d", j.Key, len(j.Dims), j.Group, steps)
	if j.layout != whole {
		fmt.Fprintf(&b, " %s short=%v", layoutNames[j.layout], j.short)
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		switch s.Kind {
		case codegen.FromBuffer:
			fmt.Fprintf(&b, " buffer%c%s", j.inner(&s.View), accessNames[j.access(i)])
			if j.layout != whole && fixed(s) {
				b.WriteString(" fixed")
			}
		case codegen.FromLiteral:
			b.WriteString(" literal")
		case codegen.FromIndex:
			fmt.Fprintf(&b, " index%s", accessNames[j.access(i)])
		case codegen.FromContraction:
			b.WriteString(" product")
		case codegen.FromInside:
			b.WriteString(" inside")
		case codegen.FromCheck:
			fmt.Fprintf(&b, " check%d", s.Check)
		}
		describeShifts(&b, s.Shifts)
	}
	fmt.Fprintf(&b, " out%c", j.inner(&j.Out))
	describeShifts(&b, j.OutShifts)
	return b.String()
}

func describeShifts(b *strings.Builder, shifts []codegen.Shift) {
	for _, h := range shifts {
		fmt.Fprintf(b, " by%d", h.From)
		if h.Per > 1 {
			fmt.Fprintf(b, "/%d", h.Per)
		}
	}
}

// inner tells how the innermost dimension of a view is walked, as far as the
// code depends on it.
func (j *Job) inner(v *strided.View) byte {
	switch v.Strides[len(j.Dims)-1] {
	case 0:
		return '0'
	case 1:
		return '1'
	}
	return 'n'
}

// access is how source i is loaded.
func (j *Job) access(i int) access {
	if j.accesses == nil {
		return plain
	}
	return j.accesses[i]
}

// outAccess is how results are stored.
func (j *Job) outAccess() access {
	switch {
	case j.layout == whole && j.Group > 1:
		return vector
	case j.layout == across:
		return linear
	}
	return plain
}

// Numbers lists the parameters in the order in which write takes them.
func (j *Job) Numbers(units int) []int {
	r := len(j.Dims) - 1
	n, g := j.Dims[r], j.Group
	nums := []int{units, n}
	nums = append(nums, j.Dims[min(1, r):r]...)
	switch {
	case j.layout == whole && r > 0:
		nums[1] = n / g
	case j.layout == across:
		nums = append(nums, strided.Product(j.Dims)-g)
	case j.layout == rows:
		nums[1] = j.rowGroups()
		nums = append(nums, n-g)
	}
	view := func(v *strided.View, shifts []codegen.Shift, a access, isIndex bool) {
		unit := 1
		if a == vector {
			unit = g
		}
		nums = append(nums, v.Offset/unit)
		if a == linear || a == linearSpan {
			return
		}
		for _, s := range v.Strides[:r] {
			nums = append(nums, s/unit)
		}
		if s := v.Strides[r]; isIndex || (s != 0 && s != 1) {
			nums = append(nums, s)
		}
		for _, h := range shifts {
			nums = append(nums, h.Limit, h.Stride/unit)
		}
	}
	for i := range j.Sources {
		if j.Sources[i].HasView() {
			view(&j.Sources[i].View, j.Sources[i].Shifts, j.access(i), j.Sources[i].Kind == codegen.FromIndex)
		} else {
			for _, h := range j.Sources[i].Shifts { // of a source that says whether they stay inside
				nums = append(nums, h.Limit*max(h.Per, 1))
			}
		}
	}
	view(&j.Out, j.OutShifts, j.outAccess(), false)
	return nums
}

// place is a view in a kernel.
type place struct {
	access access
	offset kernel.Value
	outer  []kernel.Value
	inner  int          // 0 or 1, or -1 where stride has it
	stride kernel.Value // of the innermost dimension
	shifts []shiftBy
}

// shiftBy is a shift in a kernel.
type shiftBy struct {
	from, per     int
	limit, stride kernel.Value
}

func (j *Job) place(e *codegen.Emitter, v *strided.View, shifts []codegen.Shift, a access, isIndex bool) place {
	r := len(j.Dims) - 1
	p := place{access: a, offset: e.NextNumber(), inner: v.Strides[r]}
	if a == linear || a == linearSpan {
		return p
	}
	for range r {
		p.outer = append(p.outer, e.NextNumber())
	}
	if isIndex || (p.inner != 0 && p.inner != 1) {
		p.inner, p.stride = -1, e.NextNumber()
	}
	for _, h := range shifts {
		p.shifts = append(p.shifts, shiftBy{h.From, h.Per, e.NextNumber(), e.NextNumber()})
	}
	return p
}

// fixed reports whether a source is the same element for all points.
func fixed(s *codegen.Source) bool {
	return len(s.Shifts) == 0 && !slices.ContainsFunc(s.Strides, func(n int) bool { return n != 0 })
}

// bounds are the shifts of a source that says whether they stay inside.
func bounds(s *codegen.Source, e *codegen.Emitter) (p place) {
	for _, h := range s.Shifts {
		p.shifts = append(p.shifts, shiftBy{from: h.From, per: h.Per, limit: e.NextNumber()})
	}
	return p
}
