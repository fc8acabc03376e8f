package synth

import (
	"fmt"
	"strings"

	"nxvk/synth/kernel"
)

// describe is the key of the program.
func (j *mapJob) describe(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "map %s rank=%d group=%d steps=%d", j.key, len(j.dims), j.group, steps)
	for i := range j.ins {
		s := &j.ins[i]
		switch s.kind {
		case fromBuffer:
			fmt.Fprintf(&b, " buffer%c", j.inner(&s.view))
		case fromLiteral:
			b.WriteString(" literal")
		case fromIndex:
			b.WriteString(" index")
		case fromProduct:
			b.WriteString(" product")
		case fromInside:
			b.WriteString(" inside")
		}
		describeShifts(&b, s.shifts)
	}
	fmt.Fprintf(&b, " out%c", j.inner(&j.out))
	describeShifts(&b, j.outShifts)
	return b.String()
}

func describeShifts(b *strings.Builder, shifts []shift) {
	for _, h := range shifts {
		fmt.Fprintf(b, " by%d", h.from)
		if h.per > 1 {
			fmt.Fprintf(b, "/%d", h.per)
		}
	}
}

// inner tells how the innermost dimension of a view is walked, as far as the
// code depends on it.
func (j *mapJob) inner(v *view) byte {
	switch v.strides[len(j.dims)-1] {
	case 0:
		return '0'
	case 1:
		return '1'
	}
	return 'n'
}

// perGroup says whether a view counts in groups of j.group elements.
func (j *mapJob) perGroup(v *view, isIndex bool) bool {
	return j.group > 1 && !isIndex && v.strides[len(j.dims)-1] == 1
}

// numbers lists the parameters in the order in which write takes them.
func (j *mapJob) numbers(units int) []int {
	r := len(j.dims) - 1
	nums := []int{units, j.dims[r]}
	nums = append(nums, j.dims[min(1, r):r]...)
	if r > 0 {
		nums[1] = j.dims[r] / j.group
	}
	view := func(v *view, shifts []shift, isIndex bool) {
		unit := 1
		if j.perGroup(v, isIndex) {
			unit = j.group
		}
		nums = append(nums, v.offset/unit)
		for _, s := range v.strides[:r] {
			nums = append(nums, s/unit)
		}
		if s := v.strides[r]; isIndex || (s != 0 && s != 1) {
			nums = append(nums, s)
		}
		for _, h := range shifts {
			nums = append(nums, h.limit, h.stride/unit)
		}
	}
	for i := range j.ins {
		if j.ins[i].walks() {
			view(&j.ins[i].view, j.ins[i].shifts, j.ins[i].kind == fromIndex)
		} else {
			for _, h := range j.ins[i].shifts { // of a source that says whether they stay inside
				nums = append(nums, h.limit*max(h.per, 1))
			}
		}
	}
	view(&j.out, j.outShifts, false)
	return nums
}

// place is a view in a kernel.
type place struct {
	offset  kernel.Value
	outer   []kernel.Value
	inner   int          // 0 or 1, or -1 where stride has it
	stride  kernel.Value // of the innermost dimension
	grouped bool
	shifts  []shiftBy
}

// shiftBy is a shift in a kernel.
type shiftBy struct {
	from, per     int
	limit, stride kernel.Value
}

func (j *mapJob) place(e *emitter, v *view, shifts []shift, isIndex bool) place {
	r := len(j.dims) - 1
	p := place{offset: e.num(), inner: v.strides[r], grouped: j.perGroup(v, isIndex)}
	for range r {
		p.outer = append(p.outer, e.num())
	}
	if isIndex || (p.inner != 0 && p.inner != 1) {
		p.inner, p.stride = -1, e.num()
	}
	for _, h := range shifts {
		p.shifts = append(p.shifts, shiftBy{h.from, h.per, e.num(), e.num()})
	}
	return p
}

// bounds are the shifts of a source that says whether they stay inside.
func (s *source) bounds(e *emitter) (p place) {
	for _, h := range s.shifts {
		p.shifts = append(p.shifts, shiftBy{from: h.from, per: h.per, limit: e.num()})
	}
	return p
}
