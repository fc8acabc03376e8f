package ops

import (
	"errors"
	"fmt"
)

// Region is a list of instructions with parameters and values: a program, the body of a
// loop, an arm of a branch, the function of a reduction. Ids in it are its own. A parameter
// or an instruction defines an id once; it can be used from there to the end of the region,
// also in the regions of later instructions.
type Region struct {
	Params []Result
	Body   []Instr
	Values []Operand // what the region gives
}

// MaxDepth is the deepest nesting of regions.
const MaxDepth = 1000

// ErrRegion marks a region that is inconsistent, in itself or with its instruction.
var ErrRegion = errors.New("malformed region")

// CheckProgram reports whether a region that stands alone is well formed, with
// everything in it, and gives the types of its values.
func (r *Region) CheckProgram() ([]Type, error) {
	c := checker{types: make(map[ID]Type), gone: make(map[ID]bool)}
	return c.region(r)
}

// checker knows the ids that are in scope.
type checker struct {
	types map[ID]Type
	gone  map[ID]bool // defined in a region that has ended
	depth int
}

func (c *checker) define(r Result) error {
	if err := r.Type.Check(); err != nil {
		return fmt.Errorf("%w: value %d: %w", ErrRegion, r.ID, err)
	}
	if _, have := c.types[r.ID]; have || c.gone[r.ID] {
		return fmt.Errorf("%w: id %d is defined twice", ErrRegion, r.ID)
	}
	c.types[r.ID] = r.Type
	return nil
}

func (c *checker) typeOf(o Operand) (Type, error) {
	if o.Lit != nil {
		return o.Lit.Type, nil
	}
	t, ok := c.types[o.ID]
	if !ok {
		return t, fmt.Errorf("%w: id %d is not defined here", ErrRegion, o.ID)
	}
	return t, nil
}

func (c *checker) typesOf(list []Operand) ([]Type, error) {
	types := make([]Type, len(list))
	for i, o := range list {
		var err error
		if types[i], err = c.typeOf(o); err != nil {
			return nil, err
		}
	}
	return types, nil
}

func (c *checker) region(r *Region) ([]Type, error) {
	if c.depth++; c.depth > MaxDepth {
		return nil, fmt.Errorf("%w: regions are nested more than %d deep", ErrRegion, MaxDepth)
	}
	defer func() {
		c.depth--
		c.leave(r)
	}()
	for _, p := range r.Params {
		if err := c.define(p); err != nil {
			return nil, err
		}
	}
	for i := range r.Body {
		in := &r.Body[i]
		if err := c.instr(in); err != nil {
			return nil, fmt.Errorf("instruction %d (%v): %w", i, in.Op, err)
		}
	}
	return c.typesOf(r.Values)
}

// leave ends the scope of what a region has defined.
func (c *checker) leave(r *Region) {
	end := func(list []Result) {
		for _, d := range list {
			delete(c.types, d.ID)
			c.gone[d.ID] = true
		}
	}
	end(r.Params)
	for i := range r.Body {
		end(r.Body[i].Outs)
	}
}

func (c *checker) instr(in *Instr) error {
	types, err := c.typesOf(in.Ins)
	if err != nil {
		return err
	}
	if in.Op.Info().Stream {
		return fmt.Errorf("%w: send it in the stream; programs have no such instruction", ErrRegion)
	}
	if err := in.Check(types); err != nil {
		return err
	}
	if !in.Op.Info().Closed {
		if err := c.regions(in); err != nil {
			return err
		}
	}
	for _, o := range in.Outs {
		if err := c.define(o); err != nil {
			return err
		}
	}
	return nil
}

// regions checks the regions of a loop or a branch; Check has compared their
// parameters with the operands.
func (c *checker) regions(in *Instr) error {
	for i, r := range in.Regions {
		types, err := c.region(r)
		if err == nil && in.Op == While && i == 0 {
			err = checkCondition(types)
		} else if err == nil {
			err = sameTypes("gives", types, in.Outs)
		}
		if err != nil {
			return fmt.Errorf("region %d: %w", i, err)
		}
	}
	return nil
}

func checkCondition(types []Type) error {
	if len(types) != 1 || len(types[0].Shape) != 0 {
		return fmt.Errorf("%w: a condition must give one scalar, gives %v", ErrRegion, types)
	}
	return nil
}

// sameTypes reports whether types are those of the results.
func sameTypes(verb string, types []Type, want []Result) error {
	if len(types) != len(want) {
		return fmt.Errorf("%w: %s %d values, must be %d", ErrRegion, verb, len(types), len(want))
	}
	for i, t := range types {
		if !t.Equal(want[i].Type) {
			return fmt.Errorf("%w: %s %v as value %d, must be %v", ErrRegion, verb, t, i, want[i].Type)
		}
	}
	return nil
}

func paramTypes(r *Region) []Type {
	types := make([]Type, len(r.Params))
	for i, p := range r.Params {
		types[i] = p.Type
	}
	return types
}

// whileShape checks what surrounds the regions of a loop.
func whileShape(in *Instr, types []Type) ([]Shape, error) {
	if err := sameTypes("starts with", types, in.Outs); err != nil {
		return nil, err
	}
	for i, r := range in.Regions {
		if err := sameTypes("takes", paramTypes(r), in.Outs); err != nil {
			return nil, fmt.Errorf("region %d: %w", i, err)
		}
	}
	return shapesOf(in.Outs), nil
}

func shapesOf(list []Result) []Shape {
	shapes := make([]Shape, len(list))
	for i, r := range list {
		shapes[i] = r.Type.Shape
	}
	return shapes
}

// branchShape checks what surrounds the regions of a branch.
func branchShape(in *Instr, types []Type) ([]Shape, error) {
	if len(types) != 1 || len(types[0].Shape) != 0 {
		return nil, fmt.Errorf("the predicate must be one scalar, is of %v", types)
	}
	for i, r := range in.Regions {
		if len(r.Params) != 0 {
			return nil, fmt.Errorf("%w: region %d of a branch must have no parameters", ErrRegion, i)
		}
	}
	return shapesOf(in.Outs), nil
}

// ParamTypes are the types of the parameters.
func (r *Region) ParamTypes() (types []Type) {
	for _, p := range r.Params {
		types = append(types, p.Type)
	}
	return types
}

// LastID is the highest id in a region and in those of its instructions.
func (r *Region) LastID() (last ID) {
	for _, p := range r.Params {
		last = max(last, p.ID)
	}
	for i := range r.Body {
		for _, o := range r.Body[i].Outs {
			last = max(last, o.ID)
		}
		for _, inner := range r.Body[i].Regions {
			last = max(last, inner.LastID())
		}
	}
	return last
}

// barrierShape checks that a barrier gives what it takes.
func barrierShape(in *Instr, types []Type) ([]Shape, error) {
	if err := sameTypes("takes", types, in.Outs); err != nil {
		return nil, err
	}
	return shapesOf(in.Outs), nil
}

// checkFold checks the function of a reduction: element and accumulator to
// accumulator, scalars of the result's type, nothing from outside.
func checkFold(in *Instr) error {
	r := in.Regions[0]
	if len(r.Params) != 2 {
		return fmt.Errorf("%w: the function must take an element and an accumulator, has %d parameters", ErrRegion, len(r.Params))
	}
	for i, p := range r.Params {
		if len(p.Type.Shape) != 0 {
			return fmt.Errorf("%w: parameter %d of the function must be a scalar, is %v", ErrRegion, i, p.Type)
		}
	}
	acc := []Result{{Type: Type{DType: in.Outs[0].Type.DType}}}
	if err := sameTypes("the function takes", paramTypes(r)[1:], acc); err != nil {
		return err
	}
	types, err := r.CheckProgram()
	if err != nil {
		return fmt.Errorf("function: %w", err)
	}
	return sameTypes("the function gives", types, acc)
}
