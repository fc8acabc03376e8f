package tile

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Space has expressions of the scores: their dimensions are in groups, the batch, the queries and the keys.
type Space struct {
	DAG     *fusion.DAG
	Sizes   [Groups]int
	Sources []Source
}

// Source is where expressions read, with strides in groups.
type Source struct {
	codegen.Source
	Along [Groups][]int
}

// NewSpace divides the strides of the sources of some expressions.
func NewSpace(dag *fusion.DAG, sizes [Groups]int) *Space {
	s := &Space{DAG: dag, Sizes: sizes}
	parts := Divide(dag.Dims, sizes)
	for i := range dag.Sources {
		src := Source{Source: dag.Sources[i]}
		if src.HasView() {
			for g, part := range parts {
				src.Along[g] = src.Strides[part[0]:part[1]]
			}
		}
		s.Sources = append(s.Sources, src)
	}
	return s
}

// Dims are the dimensions of a group.
func (s *Space) Dims(g int) []int {
	part := Divide(s.DAG.Dims, s.Sizes)[g]
	return s.DAG.Dims[part[0]:part[1]]
}

// Extent is one more than the greatest index of a source.
func (s *Space) Extent() int {
	n := 1
	for i := range s.Sources {
		if src := &s.Sources[i]; src.HasView() {
			n = max(n, src.Extent(s.DAG.Dims))
		}
	}
	return n
}

// AddTo adds the buffers and the literals that the expressions read to a program. operand gives the
// operand of the instruction that a literal is.
func (s *Space) AddTo(p *codegen.Program, operand func(lit int) (int, bool)) error {
	for i := range s.Sources {
		switch src := &s.Sources[i]; src.Kind {
		case codegen.FromBuffer:
			p.AddBuffer(src.Buffer, src.Extent(s.DAG.Dims), strided.Product(s.DAG.Dims))
		case codegen.FromLiteral:
			n, ok := operand(src.Lit.Operand)
			if !ok {
				return lowering.Unsupported("a number of the region in the logits")
			}
			p.Literals = append(p.Literals, codegen.Literal{Operand: n, As: src.Lit.As})
		}
	}
	return nil
}

// Numbers are the parameters of the expressions.
func (s *Space) Numbers() (nums []int) {
	for g := range Groups {
		if dims := s.Dims(g); len(dims) > 0 {
			nums = append(nums, dims[1:]...)
		}
	}
	for i := range s.Sources {
		src := &s.Sources[i]
		if !src.HasView() {
			continue
		}
		nums = append(nums, src.Offset)
		for g := range Groups {
			for _, n := range src.Along[g] {
				if n != 0 && n != 1 {
					nums = append(nums, n)
				}
			}
		}
	}
	return nums
}

// Describe is the part of a key that the expressions are.
func (s *Space) Describe() string {
	key := fmt.Sprintf(" %s logits=%v", fused.Describe(s.DAG), s.DAG.Outs)
	for g := range Groups {
		key += fmt.Sprintf(" %d", len(s.Dims(g)))
	}
	for i := range s.Sources {
		src := &s.Sources[i]
		key += fmt.Sprintf(" %d", src.Kind)
		for g := range Groups {
			key += "/"
			for _, n := range src.Along[g] {
				key += strideName(n)
			}
		}
	}
	return key
}

// strideName tells strides that kernels contain from those that are parameters.
func strideName(n int) string {
	if n == 0 || n == 1 {
		return fmt.Sprint(n)
	}
	return "n"
}

// Places are the sources of expressions in a kernel.
type Places struct {
	*codegen.Emitter
	Space  *Space
	Number kernel.Value           // of the matrix
	dims   [Groups][]kernel.Value // but for the first of a group
	List   []Place
}

// Place is a source in a kernel.
type Place struct {
	Buffer   int
	Base     kernel.Value // its place for the matrix
	strides  [Groups][]kernel.Value
	Literals []kernel.Value
}

// NewPlaces takes the parameters of the sources, whose buffers follow so many others.
func NewPlaces(e *codegen.Emitter, s *Space, buffer int) *Places {
	l := &Places{Emitter: e, Space: s}
	for g := range Groups {
		for i := range s.Dims(g) {
			if i > 0 {
				l.dims[g] = append(l.dims[g], e.NextNumber())
			}
		}
	}
	for i := range s.Sources {
		src := &s.Sources[i]
		p := Place{Buffer: buffer}
		switch {
		case src.Kind == codegen.FromLiteral:
			p.Literals = e.NextLiteral(codegen.PartsOf(src.Lit.As))
		case src.HasView():
			p.Base = e.NextNumber()
			for g := range Groups {
				for _, n := range src.Along[g] {
					if strideName(n) == "n" {
						p.strides[g] = append(p.strides[g], e.NextNumber())
					} else {
						p.strides[g] = append(p.strides[g], e.Index(n))
					}
				}
			}
			if src.Kind == codegen.FromBuffer {
				buffer++
			}
		}
		l.List = append(l.List, p)
	}
	return l
}

// Of has the sources read for a matrix.
func (l *Places) Of(number kernel.Value) *Places {
	l.Number = number
	for i := range l.List {
		if l.Space.Sources[i].HasView() {
			p := &l.List[i]
			p.Base = l.Add(p.Base, l.Distance(p, Batch, l.Split(Batch, number)))
		}
	}
	return l
}

// Split splits an index of a group into coordinates.
func (l *Places) Split(g int, i kernel.Value) []kernel.Value {
	if len(l.Space.Dims(g)) == 0 {
		return nil
	}
	return l.Coordinates(i, l.dims[g])
}

// Distance is how far a source moves with coordinates of a group.
func (l *Places) Distance(p *Place, g int, at []kernel.Value) kernel.Value {
	sum := l.Index(0)
	for d, c := range at {
		sum = l.Add(sum, l.Mul(c, p.strides[g][d]))
	}
	return sum
}

// At is what source s gives for a row and a column, in coordinates: an element as memory has it, the value of a
// literal, or an index.
func (l *Places) At(s int, row, column []kernel.Value) []kernel.Value {
	src, p := &l.Space.Sources[s], &l.List[s]
	if src.Kind == codegen.FromLiteral {
		return p.Literals
	}
	at := l.Add(l.Add(p.Base, l.Distance(p, Rows, row)), l.Distance(p, Columns, column))
	if src.Kind == codegen.FromBuffer {
		return l.Fetch(p.Buffer, at, 1)
	}
	return []kernel.Value{at}
}

// Zero reports whether all strides are 0.
func Zero(strides []int) bool {
	for _, n := range strides {
		if n != 0 {
			return false
		}
	}
	return true
}

// Pruned is the DAG of some expressions of another, without those that they do not need.
func Pruned(dag *fusion.DAG, roots ...int) *fusion.DAG {
	need, place := make([]bool, len(dag.Exprs)), make([]int, len(dag.Exprs))
	for _, i := range roots {
		need[i] = true
	}
	out := &fusion.DAG{Dims: dag.Dims, Kept: dag.Kept, Sources: dag.Sources}
	for i, x := range slices.Backward(dag.Exprs) {
		for _, a := range x.Args {
			need[a] = need[a] || need[i]
		}
	}
	for i, x := range dag.Exprs {
		if !need[i] {
			continue
		}
		x.Args = slices.Clone(x.Args)
		for k, a := range x.Args {
			x.Args[k] = place[a]
		}
		place[i] = len(out.Exprs)
		out.Exprs = append(out.Exprs, x)
	}
	for _, i := range roots {
		out.Outs = append(out.Outs, place[i])
	}
	return out
}

// Widened is a copy of expressions that rounds nothing to narrow floats. Its loads are as narrow as before.
func Widened(dag *fusion.DAG) *fusion.DAG {
	wide := func(d ops.DType) ops.DType {
		if d == ops.BF16 || d == ops.F16 {
			return ops.F32
		}
		return d
	}
	out := &fusion.DAG{Dims: dag.Dims, Kept: dag.Kept, Sources: dag.Sources, Outs: slices.Clone(dag.Outs), Exprs: slices.Clone(dag.Exprs)}
	for i := range out.Exprs {
		x := &out.Exprs[i]
		if x.Kind == fusion.ExprSource {
			if dag.Sources[x.Source].Kind != codegen.FromBuffer {
				x.Type = wide(x.Type)
			}
			continue
		}
		if x.In.Op == ops.Bitcast { // looks at bits
			continue
		}
		x.Type, x.Types = wide(x.Type), slices.Clone(x.Types)
		for k := range x.Types {
			x.Types[k].DType = wide(x.Types[k].DType)
		}
	}
	return out
}
