package sweep

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"nxvk/fallback/dense"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// readPrograms reads cases that are written by hand, as Read describes them.
func readPrograms(in io.Reader) (cases []Case, err error) {
	var title string
	var text strings.Builder
	end := func() error {
		if strings.TrimSpace(text.String()) == "" {
			return nil
		}
		r, err := notation.Parse(text.String())
		if err != nil {
			return fmt.Errorf("program %q: %w", title, err)
		}
		text.Reset()
		c, err := given(title, r, len(cases))
		if err != nil {
			return fmt.Errorf("program %q: %w", title, err)
		}
		cases = append(cases, c)
		return nil
	}
	err = lines(in, func(line string) error {
		if name, found := strings.CutPrefix(line, "#"); found {
			err := end()
			title = strings.TrimSpace(name)
			return err
		}
		text.WriteString(line + "\n")
		return nil
	})
	return cases, errors.Join(err, end())
}

// givenFamily is the family of cases that are written by hand.
const givenFamily = "given"

// given returns the case of a program.
func given(title string, r *ops.Region, id int) (Case, error) {
	b := &builder{label: title}
	b.c = Case{ID: id, Family: givenFamily, Name: title, Params: []Param{}, Program: len(r.Body) > 1}
	values := make(map[ops.ID]int)
	for _, p := range r.Params {
		values[p.ID] = b.param(Uniform, p.Type)
	}
	literals := make(map[*ops.Literal]int)
	for i := range r.Body {
		for _, o := range r.Body[i].Ins {
			if o.Lit == nil {
				continue
			}
			x, err := numberOf(o.Lit)
			if err != nil {
				return Case{}, err
			}
			v := b.param(Literal, o.Lit.Type)
			b.c.Params[v].Number = x
			literals[o.Lit] = v
		}
	}
	filled := make(map[int]bool)
	for i := range r.Body {
		in := &r.Body[i]
		if len(in.Regions) > 0 {
			return Case{}, fmt.Errorf("%v has a region, which cases do not have", in.Op)
		}
		var ins []int
		for k, o := range in.Ins {
			v := values[o.ID]
			if o.Lit != nil {
				v = literals[o.Lit]
			} else if v < len(r.Params) && !filled[v] {
				filled[v] = true
				b.fillAs(v, in, k, values)
			}
			ins = append(ins, v)
		}
		var outs []ops.Type
		for _, o := range in.Outs {
			outs = append(outs, o.Type)
		}
		first := b.all(in.Op, outs, in.Attrs, ins...)
		for k, o := range in.Outs {
			values[o.ID] = first + k
		}
	}
	var results []int
	for _, o := range r.Values {
		if o.Lit != nil {
			return Case{}, errors.New("a literal is given: give values that are computed")
		}
		results = append(results, values[o.ID])
	}
	b.finish(results...)
	_, _, err := b.c.Region()
	return b.c, err
}

// fillAs fills param v as operand k of an instruction.
func (b *builder) fillAs(v int, in *ops.Instr, k int, values map[ops.ID]int) {
	p := &b.c.Params[v]
	p.Fill = fillOf(in.Op, k)
	if p.Fill == Indices {
		axes, s := in.Attrs[0], b.types[values[in.Ins[0].ID]].Shape
		p.Bound = s[axes[0]]
		for _, a := range axes {
			p.Bound = min(p.Bound, s[a])
		}
	}
}

// numberOf returns the number of a scalar literal.
func numberOf(lit *ops.Literal) (float64, error) {
	d := lit.Type.DType
	if load := dense.LoadAs[float64](d); load != nil && len(lit.Type.Shape) == 0 && !d.IsComplex() && d.Bits() >= 8 {
		var x [1]float64
		load(x[:], lit.Data, 0, 1)
		return x[0], nil
	}
	return 0, fmt.Errorf("a literal of %v: write scalars of a real type of 8 bits or more", lit.Type)
}
