package spmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/test/draw"
)

// world evaluates the programs of all ranks, each on a goroutine, by package fallback.
type world struct {
	mu    sync.Mutex
	calls map[string]*meeting
}

type meeting struct {
	operands map[int]fallback.Value
	full     chan struct{}
}

// machine is a rank.
type machine struct {
	world *world
	rank  int
	seq   int
	vals  map[ops.ID]fallback.Value
}

func (w *world) run(r *ops.Region, rank int, args []fallback.Value) (out []fallback.Value, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("rank %d: %v", rank, x)
		}
	}()
	m := &machine{world: w, rank: rank, vals: map[ops.ID]fallback.Value{}}
	return m.region(r, args), nil
}

func (m *machine) value(o ops.Operand) fallback.Value {
	if o.Lit != nil {
		return fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data}
	}
	v, ok := m.vals[o.ID]
	if !ok {
		panic(fmt.Sprintf("id %d is not there", o.ID))
	}
	return v
}

func (m *machine) values(list []ops.Operand) (out []fallback.Value) {
	for _, o := range list {
		out = append(out, m.value(o))
	}
	return out
}

func (m *machine) region(r *ops.Region, args []fallback.Value) []fallback.Value {
	for i, p := range r.Params {
		m.vals[p.ID] = args[i]
	}
	for i := range r.Body {
		for k, v := range m.instr(&r.Body[i]) {
			m.vals[r.Body[i].Outs[k].ID] = v
		}
	}
	return m.values(r.Values)
}

func (m *machine) instr(in *ops.Instr) (outs []fallback.Value) {
	args := m.values(in.Ins)
	switch {
	case in.Op == ops.While:
		for fallback.Nonzero(m.region(in.Regions[0], args)[0]) {
			args = m.region(in.Regions[1], args)
		}
		return args
	case in.Op == ops.Branch:
		if fallback.Nonzero(args[0]) {
			return m.region(in.Regions[0], nil)
		}
		return m.region(in.Regions[1], nil)
	case in.Op.IsCollective():
		return []fallback.Value{m.meet(in, args[0])}
	}
	return compute(in, args)
}

func compute(in *ops.Instr, args []fallback.Value) (outs []fallback.Value) {
	for _, o := range in.Outs {
		outs = append(outs, fallback.Value{Type: o.Type, Data: make([]byte, o.Type.Bytes())})
	}
	if err := fallback.Run(in, args, outs); err != nil {
		panic(fmt.Sprintf("%v: %v", in.Op, err))
	}
	return outs
}

// meet carries out a collective by its definition.
func (m *machine) meet(in *ops.Instr, x fallback.Value) fallback.Value {
	m.seq++
	group := in.Attrs[0]
	key := fmt.Sprint(m.seq, group, in.Op, x.Type)
	m.world.mu.Lock()
	c := m.world.calls[key]
	if c == nil {
		c = &meeting{operands: map[int]fallback.Value{}, full: make(chan struct{})}
		m.world.calls[key] = c
	}
	c.operands[m.rank] = x
	if len(c.operands) == len(group) {
		close(c.full)
	}
	m.world.mu.Unlock()
	<-c.full
	out := fallback.Value{Type: in.Outs[0].Type}
	made := []ops.Result{{ID: 3, Type: x.Type}}
	for i, r := range group {
		y := c.operands[r]
		switch {
		case in.Op == ops.AllGather:
			out.Data = append(out.Data, y.Data...)
		case i == 0:
			out = fallback.Value{Type: x.Type, Data: slices.Clone(y.Data)}
		default:
			sum := &ops.Instr{Op: in.Combiner(), Ins: make([]ops.Operand, 2), Outs: made}
			sum.Ins[0].ID, sum.Ins[1].ID = 1, 2
			out = compute(sum, []fallback.Value{out, y})[0]
		}
	}
	if in.Op == ops.ReduceScatter {
		n := len(out.Data) / len(group)
		return fallback.Value{Type: in.Outs[0].Type, Data: out.Data[slices.Index(group, m.rank)*n:][:n]}
	}
	return out
}

// part is what a rank has of a value.
func part(p *shard.Share, v fallback.Value, s shard.Sharding) fallback.Value {
	e := &emitter{mesh: p, last: new(ops.ID), notes: &[]Note{}, moved: map[move]ops.Operand{}, parts: map[ops.ID][]int{}}
	got := e.bring(value{typ: v.Type, sharding: shard.Whole(len(s)), local: ops.Operand{Lit: &ops.Literal{Type: v.Type, Data: v.Data}}}, s)
	m := &machine{vals: map[ops.ID]fallback.Value{}}
	return m.region(&ops.Region{Body: e.body, Values: []ops.Operand{got.local}}, nil)[0]
}

var meshes = [][]int{{2}, {3}, {4}, {2, 2}, {2, 3}, {2, 1, 2}, {1}}

// drawSharding divides dimensions where that is possible, by axes in any order.
func drawSharding(rng *rand.Rand, p *shard.Share, shape ops.Shape) shard.Sharding {
	s := shard.Whole(len(shape))
	if len(shape) == 0 {
		return s
	}
	for _, a := range rng.Perm(len(p.Shape)) {
		d := rng.IntN(len(shape))
		if try := append(slices.Clone(s[d]), a); rng.IntN(4) > 0 && shape[d]%p.Parts(try) == 0 {
			s[d] = try
		}
	}
	return s
}

// check compares a program that is divided over a mesh with the whole one. It reports whether something was divided.
func check(t *testing.T, name string, rng *rand.Rand, r *ops.Region, args []fallback.Value, exact bool) (divided bool) {
	t.Helper()
	whole := &world{calls: map[string]*meeting{}}
	want, err := whole.run(r, 0, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	mesh := meshes[rng.IntN(len(meshes))]
	p := shard.Share{Shape: mesh, Whole: rng.IntN(4) == 0}
	for _, a := range r.Params {
		s := drawSharding(rng, &p, a.Type.Shape)
		p.Params = append(p.Params, s)
		divided = divided || !isWhole(s)
	}
	name = fmt.Sprintf("%s on %v by %v", name, mesh, p.Params)
	ranks := p.Parts(ops.AllAxes(len(mesh)))
	w := &world{calls: map[string]*meeting{}}
	got := make([][]fallback.Value, ranks)
	shares := make([]*Result, ranks)
	var all sync.WaitGroup
	for rank := range ranks {
		p := p
		p.Rank = rank
		share, err := Partition(r, &p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := share.Region.CheckProgram(); err != nil {
			t.Fatalf("%s: rank %d: %v", name, rank, err)
		}
		shares[rank] = share
		own := make([]fallback.Value, len(args))
		for i, a := range args {
			own[i] = part(&p, a, p.Params[i])
		}
		all.Go(func() {
			out, err := w.run(share.Region, rank, own)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got[rank] = out
		})
	}
	all.Wait()
	for rank, out := range got {
		p := p
		p.Rank = rank
		for i := range out {
			if p.Whole && !isWhole(shares[rank].Values[i]) {
				t.Fatalf("%s: rank %d: value %d is divided", name, rank, i)
			}
			mine := part(&p, want[i], shares[rank].Values[i])
			if !mine.Type.Equal(out[i].Type) || !near(mine, out[i], exact) {
				t.Fatalf("%s: rank %d, value %d: got %v %v, want %v %v", name, rank, i,
					out[i].Type, draw.Decode(out[i].Data, out[i].Type), mine.Type, draw.Decode(mine.Data, mine.Type))
			}
		}
	}
	return divided
}

// near compares values: bit for bit, or where reductions of floats may have been split within a bound.
func near(want, got fallback.Value, exact bool) bool {
	if slices.Equal(want.Data, got.Data) {
		return true
	}
	if exact || want.Type.DType.IsInteger() || want.Type.DType.IsComplex() {
		return false
	}
	x, y := draw.Decode(want.Data, want.Type), draw.Decode(got.Data, got.Type)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-4*(1+math.Abs(x[i])) && !(x[i] != x[i] && y[i] != y[i]) {
			return false
		}
	}
	return true
}

// TestPrograms: drawn programs on drawn meshes compute the values of the whole program, with loops and branches.
func TestPrograms(t *testing.T) {
	divided := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 17))
		r := draw.Program(seed, 12)
		var args []fallback.Value
		for _, p := range r.Params {
			args = append(args, fallback.Value{Type: p.Type, Data: draw.Whole(rng, p.Type)})
		}
		if check(t, fmt.Sprint("program ", seed), rng, r, args, false) {
			divided++
		}
	}
	if divided < 200 {
		t.Errorf("only %d programs were divided", divided)
	}
}
