package sweep

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// Case is one measurement: steps on operands, carried out one after another as eager
// operations, or together as a program.
type Case struct {
	ID      int     `json:"id"`
	Family  string  `json:"family"`
	Name    string  `json:"name"`
	Torch   string  `json:"torch,omitempty"`   // the function that has the steps in PyTorch, if one has
	Program bool    `json:"program,omitempty"` // the steps are one program
	Params  []Param `json:"params"`
	Steps   []Step  `json:"steps"`
	Values  []int   `json:"values"` // the results; params are 0 to n-1, the results of steps follow
	Bytes   float64 `json:"bytes"`  // memory traffic of a kernel that reads and writes everything once
	Ops     float64 `json:"ops"`    // arithmetic operations, for products and what is made of them
}

// Type is the type of a value.
type Type struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// Param is an operand and says how it is filled.
type Param struct {
	Type
	Fill   Fill    `json:"fill"`
	Bound  int     `json:"bound,omitempty"`  // of indices
	Number float64 `json:"number,omitempty"` // of a literal
}

// Fill says which elements an operand has.
type Fill string

// The fills.
const (
	Uniform   Fill = "uniform"   // floats in (-1, 1), all integers of the type
	Positive  Fill = "positive"  // [1, 2), integers from 1 to 8
	Fraction  Fill = "fraction"  // [0, 1), integers 0 and 1
	Rectified Fill = "rectified" // floats in [0, 1), of which half are 0
	Indices   Fill = "indices"   // integers below the bound
	Dominant  Fill = "dominant"  // well conditioned square matrices
	Symmetric Fill = "symmetric" // the same, symmetric positive definite
	Literal   Fill = "literal"   // one number in the instruction
)

// Step is one instruction.
type Step struct {
	Op    string  `json:"op"`
	Ins   []int   `json:"ins"`
	Attrs [][]int `json:"attrs,omitempty"`
	Outs  []Type  `json:"outs"`
}

func typeOf(t ops.Type) Type { return Type{t.DType.String(), append([]int{}, t.Shape...)} }

// of returns the type that the JSON names.
func (t Type) of() (ops.Type, error) {
	d, err := ops.ParseDType(t.DType)
	return ops.Type{DType: d, Shape: ops.Shape(t.Shape)}, err
}

// literal returns the number of a literal param.
func (p *Param) literal() (*ops.Literal, error) {
	t, err := p.of()
	if err != nil {
		return nil, err
	}
	store := dense.StoreAs[float64](t.DType)
	if store == nil || t.DType.IsComplex() || t.DType.Bits() < 8 {
		return nil, fmt.Errorf("a literal of type %v: write it as a real type of 8 bits or more", t.DType)
	}
	lit := &ops.Literal{Type: t, Data: make([]byte, t.Bytes())}
	store(lit.Data, 0, []float64{p.Number})
	return lit, nil
}

// Region returns the steps as a program, which has been checked, and the types of its values.
func (c *Case) Region() (*ops.Region, []ops.Type, error) {
	r := &ops.Region{}
	operands := make([]ops.Operand, 0, len(c.Params)+len(c.Steps))
	for i := range c.Params {
		p := &c.Params[i]
		if p.Fill == Literal {
			lit, err := p.literal()
			if err != nil {
				return nil, nil, err
			}
			operands = append(operands, ops.Operand{Lit: lit})
			continue
		}
		t, err := p.of()
		if err != nil {
			return nil, nil, err
		}
		id := ops.ID(i + 1)
		r.Params = append(r.Params, ops.Result{ID: id, Type: t})
		operands = append(operands, ops.Operand{ID: id})
	}
	for i := range c.Steps {
		in, err := c.Steps[i].instr(operands)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d: %w", i, err)
		}
		for _, o := range in.Outs {
			operands = append(operands, ops.Operand{ID: o.ID})
		}
		r.Body = append(r.Body, in)
	}
	for _, v := range c.Values {
		if v < 0 || v >= len(operands) {
			return nil, nil, fmt.Errorf("value %d is not defined", v)
		}
		r.Values = append(r.Values, operands[v])
	}
	types, err := r.CheckProgram()
	return r, types, err
}

// instr returns the instruction of a step; its results follow the operands.
func (s *Step) instr(operands []ops.Operand) (in ops.Instr, err error) {
	op, ok := ops.Lookup(s.Op)
	if !ok {
		return in, fmt.Errorf("unknown operation %q", s.Op)
	}
	in = ops.Instr{Op: op, Attrs: s.Attrs}
	for _, i := range s.Ins {
		if i < 0 || i >= len(operands) {
			return in, fmt.Errorf("value %d is not defined", i)
		}
		in.Ins = append(in.Ins, operands[i])
	}
	for k, o := range s.Outs {
		t, err := o.of()
		if err != nil {
			return in, err
		}
		in.Outs = append(in.Outs, ops.Result{ID: ops.ID(len(operands) + k + 1), Type: t})
	}
	return in, nil
}

// Write writes a list of cases as JSON lines.
func Write(out io.Writer, cases []Case) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range cases {
		if err := enc.Encode(&cases[i]); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a list of cases, and checks each of them. The list is JSON lines, as Write writes
// them, or programs as text: a line with # and a title, then the program in the form of
// synth/graph. A program of one instruction is carried out as an eager operation.
//
//	# an embedding
//	(%1:f32[32000,4096], %2:s64[8192]) {
//	  %3:f32[8192,4096] = take %1, %2 axis=0
//	  give %3
//	}
func Read(in io.Reader) (cases []Case, err error) {
	buffered := bufio.NewReader(in)
	if first, err := buffered.Peek(1); err == nil && first[0] != '{' {
		return readPrograms(buffered)
	}
	err = lines(buffered, func(line string) error {
		var c Case
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return err
		}
		if _, _, err := c.Region(); err != nil {
			return fmt.Errorf("case %d, %s: %w", c.ID, c.Name, err)
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

// lines calls f with each line that is not empty.
func lines(in io.Reader, f func(string) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<24)
	for n := 1; s.Scan(); n++ {
		if text := strings.TrimSpace(s.Text()); text != "" {
			if err := f(text); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return s.Err()
}
