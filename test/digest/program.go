package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/test/draw"
)

// program is a region with operands.
type program struct {
	name     string
	region   *ops.Region
	types    []ops.Type // of its results
	inputs   [][]byte   // by parameter
	leapfrog bool       // it is a log density and its gradient, of a position and data
}

// programs are the first count programs of a seed: every operation of the table alone,
// in three types, then drawn ones of each kind in turn.
func programs(seed uint64, count int) []*program {
	list := singles(seed)
	for i := 0; len(list) < count; i++ {
		k := kinds[i%len(kinds)]
		m := &maker{Builder: draw.NewBuilder(), s: draw.New(seed<<32 + uint64(i))}
		values := k.make(m)
		if len(values) == 0 {
			panic(fmt.Sprintf("BUG: %s %d of seed %d gives nothing", k.name, i, seed))
		}
		list = append(list, m.program(fmt.Sprintf("%s.%d", k.name, i), values...))
	}
	return list[:count]
}

// kinds are the drawn programs. Those that stand here twice are drawn twice as often.
var kinds = []struct {
	name string
	make func(m *maker) []ops.Operand
}{
	{"elements", (*maker).elements},
	{"straight", (*maker).straight},
	{"reduction", (*maker).reduction},
	{"product", (*maker).product},
	{"straight", (*maker).straight},
	{"convolution", (*maker).convolution},
	{"order", (*maker).order},
	{"loops", (*maker).loops},
	{"transform", (*maker).transform},
	{"linalg", (*maker).linalg},
	{"straight", (*maker).straight},
	{"lookup", (*maker).lookup},
	{"window", (*maker).window},
	{"movement", (*maker).movement},
	{"straight", (*maker).straight},
	{"leapfrog", (*maker).density},
	{"scan", (*maker).scan},
}

// maker makes a program.
type maker struct {
	*draw.Builder
	s      draw.Sampler
	inputs [][]byte
	ready  *ops.Region // made elsewhere
	grad   bool
}

// program ends a program that gives values.
func (m *maker) program(name string, values ...ops.Operand) *program {
	p := &program{name: name, region: m.ready, inputs: m.inputs, leapfrog: m.grad}
	if p.region == nil {
		p.region = m.Region(values...)
	}
	var err error
	if p.types, err = p.region.CheckProgram(); err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", name, err))
	}
	return p
}

// param adds a parameter with its operand.
func (m *maker) param(t ops.Type, data []byte) ops.Operand {
	m.inputs = append(m.inputs, data)
	return m.Param(t)
}

// fill draws the elements of a type.
func (m *maker) fill(t ops.Type, d ops.Domain, last bool) []byte {
	if t.DType.IsComplex() {
		t = ops.Type{DType: t.DType.Real(), Shape: append(ops.Shape{2}, t.Shape...)}
	}
	v := make([]float64, t.Size())
	for i := range v {
		v[i] = m.s.Number(t.DType, d, last)
	}
	return draw.Encode(v, t)
}

// whole draws integers from low to high.
func (m *maker) whole(t ops.Type, low, high int) []byte {
	v := make([]float64, t.Size())
	for i := range v {
		v[i] = float64(low + m.s.IntN(high-low+1))
	}
	return draw.Encode(v, t)
}

// real draws a parameter of a type.
func (m *maker) real(d ops.DType, dims ...int) ops.Operand {
	t := ops.Type{DType: d, Shape: dims}
	return m.param(t, m.fill(t, ops.Small, false))
}

// one adds an instruction that is well formed and has one result.
func (m *maker) one(op ops.Op, d ops.DType, attrs [][]int, ins ...ops.Operand) ops.Operand {
	return m.shaped(op, d, nil, attrs, ins...)
}

// shaped is one where the client states the shape.
func (m *maker) shaped(op ops.Op, d ops.DType, s ops.Shape, attrs [][]int, ins ...ops.Operand) ops.Operand {
	outs, ok := m.Add(op, []ops.DType{d}, s, attrs, ins...)
	if !ok {
		panic(fmt.Sprintf("BUG: %v %v is not well formed", op, attrs))
	}
	return outs[0]
}

// key is a number for a name.
func key(name string) uint64 {
	h := fnv.New32a()
	io.WriteString(h, name)
	return uint64(h.Sum32())
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// singles are the examples of the table: each operation on f32, or on another type
// where it takes none, and on two types that the seed and the name of the operation
// choose. Its place in the table makes no difference.
func singles(seed uint64) (list []*program) {
	all := ops.DTypes()
	for op := range ops.Count {
		r := rand.New(rand.NewPCG(seed, key(op.String())))
		types := append([]ops.DType{ops.F32}, all[r.IntN(len(all))], all[r.IntN(len(all))])
		have := make(map[ops.DType]bool)
		for _, first := range types {
			for k := range all {
				d := first
				if k > 0 {
					d = all[(int(first)+k)%len(all)]
				}
				if have[d] {
					continue
				}
				if p := single(op, d, seed); p != nil {
					have[d] = true
					list = append(list, p)
					break
				}
			}
		}
	}
	return list
}

// single is the example of an operation on a type, nil where there is none.
func single(op ops.Op, d ops.DType, seed uint64) *program {
	in, types, ok := example.Of(op, d)
	if !ok || in.Check(types) != nil || !computes(op, d) {
		return nil
	}
	f := op.Info()
	name := fmt.Sprintf("%v.%v", op, d)
	m := &maker{Builder: draw.NewBuilder(), s: draw.New(seed<<32 + key(name))}
	one := *in
	one.Ins = append([]ops.Operand(nil), in.Ins...)
	one.Outs = append([]ops.Result(nil), in.Outs...)
	for i, t := range types {
		if one.Ins[i].Lit != nil {
			one.Ins[i] = ops.Operand{Lit: &ops.Literal{Type: t, Data: m.fill(t, ops.Small, false)}}
			continue
		}
		data := m.fill(t, f.Domain, i == len(types)-1)
		switch {
		case f.Kind == ops.Index && i == 1:
			data = m.whole(t, 0, 1)
		case f.Kind == ops.LinAlg && i == 0:
			data = m.matrix(t, op == ops.Cholesky || op == ops.Eigh)
		}
		one.Ins[i] = m.param(t, data)
	}
	var values []ops.Operand
	for i := range one.Outs {
		one.Outs[i].ID = m.ID(one.Outs[i].Type)
		values = append(values, ops.Operand{ID: one.Outs[i].ID})
	}
	m.Body = append(m.Body, one)
	return m.program(name, values...)
}

// matrix draws square or oblong matrices far from singular; with hermitian they equal
// their conjugate transposes and are positive definite.
func (m *maker) matrix(t ops.Type, hermitian bool) []byte {
	rank, parts := len(t.Shape), 1
	rows, cols := t.Shape[rank-2], t.Shape[rank-1]
	if t.DType.IsComplex() {
		parts = 2
	}
	v := make([]float64, t.Size()*parts)
	for at := 0; at < len(v); at += rows * cols * parts {
		a := v[at : at+rows*cols*parts]
		for i := range a {
			a[i] = math.Round(64*m.s.NormFloat64()) / 64
			if t.DType.IsInteger() {
				a[i] = float64(m.s.IntN(2))
			}
		}
		for i := range min(rows, cols) {
			a[(i*cols+i)*parts] += float64(2 + 2*i%5)
		}
		if !hermitian {
			continue
		}
		for i := range rows {
			a[(i*cols+i)*parts] += 4 * math.Sqrt(float64(rows))
			if parts == 2 {
				a[(i*cols+i)*parts+1] = 0
			}
			for k := range i {
				for p := range parts {
					a[(k*cols+i)*parts+p] = a[(i*cols+k)*parts+p] * float64(1-2*p)
				}
			}
		}
	}
	flat := ops.Type{DType: t.DType.Real(), Shape: ops.Shape{len(v)}}
	return draw.Encode(v, flat)
}
