package wire

import (
	"fmt"
	"math"
	"slices"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// attributes reads the attributes of an operation by its schema. Regions are
// returned apart.
func attributes(info *ops.Info, t etf.Term, depth int) ([][]int, []*ops.Region, error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, nil, bad("attributes are a list")
	}
	if len(list) != len(info.Attrs) {
		return nil, nil, &Fault{BadArgument, fmt.Errorf("takes %d attributes, has %d", len(info.Attrs), len(list))}
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	values := make([][]int, len(list))
	var regions []*ops.Region
	for i, e := range list {
		if info.Attrs[i].Kind == ops.Block {
			r, err := region(e, depth+1)
			if err != nil {
				return nil, nil, fmt.Errorf("attribute %q: %w", info.Attrs[i].Name, err)
			}
			regions = append(regions, r)
			continue
		}
		v, ok := attribute(&info.Attrs[i], e)
		if !ok {
			return nil, nil, &Fault{BadArgument, fmt.Errorf("attribute %q must be %s", info.Attrs[i].Name, describe(&info.Attrs[i]))}
		}
		values[i] = v
	}
	return values, regions, nil
}

// describe says which values an attribute takes.
func describe(a *ops.Attr) string {
	if a.Kind == ops.Enum {
		return fmt.Sprintf("one of %v", a.Names)
	}
	return a.Kind.String()
}

func attribute(a *ops.Attr, t etf.Term) ([]int, bool) {
	switch a.Kind {
	case ops.Int:
		n, err := integer(t)
		return []int{n}, err == nil
	case ops.Ints:
		return tuples(t, 1)
	case ops.Pairs:
		return tuples(t, 2)
	case ops.Pads:
		return tuples(t, 3)
	case ops.Bool:
		return boolean(t)
	case ops.Enum:
		name, _ := t.(etf.Atom)
		i := slices.Index(a.Names, string(name))
		return []int{i}, i >= 0
	case ops.TypeOf:
		d, err := dtypeOf(t)
		return []int{int(d)}, err == nil
	case ops.Real64:
		f, ok := t.(float64)
		return []int{int(math.Float64bits(f))}, ok
	}
	panic("BUG: attribute of no kind")
}

func boolean(t etf.Term) ([]int, bool) {
	switch t {
	case etf.Atom("true"):
		return []int{1}, true
	case etf.Atom("false"):
		return []int{0}, true
	}
	return nil, false
}

// tuples reads a list of tuples of width integers, or of integers where width is 1.
func tuples(t etf.Term, width int) ([]int, bool) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, false
	}
	out := make([]int, 0, len(list)*width)
	for _, e := range list {
		items := etf.Tuple{e}
		if width > 1 {
			if items, ok = e.(etf.Tuple); !ok || len(items) != width {
				return nil, false
			}
		}
		for _, item := range items {
			n, err := integer(item)
			if err != nil {
				return nil, false
			}
			out = append(out, n)
		}
	}
	return out, true
}

// integer reads an integer of at most 63 bits.
func integer(t etf.Term) (int, error) {
	n, ok := t.(int64)
	if !ok {
		return 0, bad("not an integer of 64 bits")
	}
	return int(n), nil
}
