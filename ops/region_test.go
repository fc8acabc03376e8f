package ops

import (
	"errors"
	"strings"
	"testing"
)

// val is a value of a type, or the operand that names it.
func val(id ID, t Type) Result { return Result{ID: id, Type: t} }
func use(ids ...ID) (list []Operand) {
	for _, id := range ids {
		list = append(list, Operand{ID: id})
	}
	return list
}

// countdown is a program with a loop and a branch:
// it halves x while its sum is above 1, then negates it where y is not zero.
func countdown() *Region {
	v, s, b := of(F32, 4), of(F32), of(U8)
	one := Operand{Lit: &Literal{Type: s, Data: []byte{0, 0, 128, 63}}}
	half := Operand{Lit: &Literal{Type: s, Data: []byte{0, 0, 0, 63}}}
	cond := &Region{Params: []Result{val(3, v)}, Values: use(5), Body: []Instr{
		{Op: Sum, Ins: use(3), Outs: []Result{val(4, s)}, Attrs: [][]int{{0}, {0}}},
		{Op: Greater, Ins: append(use(4), one), Outs: []Result{val(5, b)}}}}
	body := &Region{Params: []Result{val(6, v)}, Values: use(7), Body: []Instr{
		{Op: Multiply, Ins: append(use(6), half), Outs: []Result{val(7, v)}}}}
	neg := &Region{Values: use(10), Body: []Instr{{Op: Negate, Ins: use(8), Outs: []Result{val(10, v)}}}}
	return &Region{Params: []Result{val(1, v), val(2, s)}, Values: use(9), Body: []Instr{
		{Op: While, Ins: use(1), Outs: []Result{val(8, v)}, Attrs: [][]int{nil, nil}, Regions: []*Region{cond, body}},
		{Op: Branch, Ins: use(2), Outs: []Result{val(9, v)}, Attrs: [][]int{nil, nil}, Regions: []*Region{neg, {Values: use(8)}}},
	}}
}

func TestCheckProgram(t *testing.T) {
	types, err := countdown().CheckProgram()
	if err != nil || len(types) != 1 || !types[0].Equal(of(F32, 4)) {
		t.Fatalf("got %v, %v", types, err)
	}
	for _, c := range []struct {
		name  string
		spoil func(r *Region)
		want  string
	}{
		{"undefined", func(r *Region) { r.Body[1].Ins = use(77) }, "id 77 is not defined here"},
		{"cycle", func(r *Region) { r.Body[0].Ins = use(8) }, "id 8 is not defined here"},
		{"twice", func(r *Region) { r.Body[1].Outs[0].ID = 8 }, "id 8 is defined twice"},
		{"used outside its region", func(r *Region) { r.Values = use(7) }, "id 7 is not defined here"},
		{"defined again outside its region", func(r *Region) { r.Body[1].Outs[0].ID = 7 }, "id 7 is defined twice"},
		{"shape of the state", func(r *Region) { r.Body[0].Regions[1].Values = use(2) }, "region 1: malformed region: gives f32 as value 0, must be f32{4}"},
		{"condition", func(r *Region) { r.Body[0].Regions[0].Values = use(3) }, "a condition must give one scalar"},
		{"count", func(r *Region) { r.Body[1].Regions[1].Values = nil }, "gives 0 values, must be 1"},
		{"parameters", func(r *Region) { r.Body[0].Regions[1].Params = nil }, "takes 0 values, must be 1"},
		{"missing region", func(r *Region) { r.Body[0].Regions = r.Body[0].Regions[:1] }, "takes 2 regions, has 1"},
		{"predicate", func(r *Region) { r.Body[1].Ins = use(8) }, "the predicate must be one scalar"},
		{"of the stream", func(r *Region) { r.Body[1] = Instr{Op: Free, Attrs: [][]int{{1}}} }, "send it in the stream"},
		{"inner error", func(r *Region) { r.Body[0].Regions[1].Body[0].Outs[0].Type = of(F32, 5) }, "instruction 0 (while): region 1: instruction 0 (multiply): shape"},
	} {
		r := countdown()
		c.spoil(r)
		if _, err := r.CheckProgram(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestDeepProgram: regions nest up to a bound.
func TestDeepProgram(t *testing.T) {
	nest := func(n int) *Region {
		s := of(F32)
		r := &Region{Values: use(1)}
		for i := range n {
			id := ID(i + 2)
			r = &Region{Values: use(id), Body: []Instr{{Op: Branch, Ins: use(1), Outs: []Result{val(id, s)},
				Attrs: [][]int{nil, nil}, Regions: []*Region{r, {Values: use(1)}}}}}
		}
		r.Params = []Result{val(1, s)}
		return r
	}
	if _, err := nest(MaxDepth - 1).CheckProgram(); err != nil {
		t.Error(err)
	}
	if _, err := nest(MaxDepth).CheckProgram(); !errors.Is(err, ErrRegion) {
		t.Errorf("got %v, want %v", err, ErrRegion)
	}
}
