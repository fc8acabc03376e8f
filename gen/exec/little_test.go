package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/test/draw"
	"nxvk/test/fewtest"
	"nxvk/vulkan"

	"ergo.services/ergo/gen"
)

// TestLittleFusions: programs of little work, which stays on the host, give the bits of the host alone, also where it
// interprets one kernel for a fusion.
func TestLittleFusions(t *testing.T) {
	r, alone := newRig(t, device(t, vulkan.Options{})), newRig(t, nil)
	r.limitHost(4096)
	for seed := range uint64(fewtest.Of(60, 12)) {
		p := draw.Program(seed, 60)
		key, q, other := fmt.Sprint(seed), r.session(), alone.session()
		r.Define(q, key, p)
		alone.Define(other, key, p)
		for range 4 {
			if got, want := r.whole(q, key, p, seed), alone.whole(other, key, p, seed); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("program %d gives %x, on the host alone %x", seed, got, want)
			}
			r.Built()
		}
	}
	if r.exec.Counters().Interpreted == 0 {
		t.Error("no kernel was interpreted")
	}
}

// TestLittleRandom: the words of a random generator are a kernel or two on the host, once these are made.
func TestLittleRandom(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	r.limitHost(4096)
	q, p := r.session(), threefry(20, ops.Type{DType: ops.U32, Shape: ops.Shape{2}})
	r.Define(q, "words", p)
	first := r.whole(q, "words", p, 1)
	for run := range 4 {
		r.Built()
		before := r.exec.Counters()
		if got := r.whole(q, "words", p, 1); !slices.EqualFunc(got, first, bytes.Equal) {
			t.Fatalf("run %d gives %x, the first %x", run, got, first)
		}
		if n := r.exec.Counters().Interpreted - before.Interpreted; run == 3 && (n == 0 || n > 2) {
			t.Errorf("%d kernels were interpreted", n)
		}
	}
}

// TestLittleIntegers: drawn operations on integers of several types, with all bits, give the bits of the host alone in one kernel, too.
func TestLittleIntegers(t *testing.T) {
	r, alone := newRig(t, device(t, vulkan.Options{})), newRig(t, nil)
	r.limitHost(4096)
	interpreted := 0
	for seed := range uint64(fewtest.Of(300, 60)) {
		p := integerProgram(rand.New(rand.NewPCG(seed, 23)))
		key, q, other := fmt.Sprint(seed), r.session(), alone.session()
		r.Define(q, key, p)
		alone.Define(other, key, p)
		bits := func(param ops.Type, draws *rand.Rand) []byte {
			data := make([]byte, param.Bytes())
			for i := range data {
				data[i] = byte(draws.Uint32()) & byte(0-draws.IntN(3)) // a third of them is 0
			}
			return data
		}
		want := alone.drawn(other, key, p, seed, bits)
		for range 4 {
			before := r.exec.Counters().Interpreted
			if got := r.drawn(q, key, p, seed, bits); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("program %d gives %x, on the host alone %x, of %v", seed, got, want, p.Body)
			}
			r.Built()
			if r.exec.Counters().Interpreted > before {
				interpreted++
			}
		}
		r.exec.End(q.Session)
		alone.exec.End(other.Session)
	}
	t.Logf("%d runs had an interpreted kernel", interpreted)
	if interpreted < 10 {
		t.Errorf("%d runs had an interpreted kernel", interpreted)
	}
}

// integerProgram is a program of eight operations on elements that are integers of drawn types.
func integerProgram(r *rand.Rand) *ops.Region {
	p := draw.NewBuilder()
	types := []ops.DType{ops.U8, ops.U16, ops.U32, ops.U64, ops.S8, ops.S16, ops.S32, ops.S64}
	one := func() ops.DType { return types[r.IntN(len(types))] }
	var pool []ops.Operand
	for range 3 {
		pool = append(pool, p.Param(ops.Type{DType: one(), Shape: ops.Shape{3}}))
	}
	for len(p.Body) < 8 {
		op := ops.Op(r.IntN(int(ops.Count)))
		if op.Info().Kind != ops.Pointwise || op == ops.Phase { // that of integers is the client's
			continue
		}
		var ins []ops.Operand
		to := ops.U8
		for range 1 + r.IntN(3) {
			o := pool[max(r.IntN(len(pool)), r.IntN(len(pool)))]
			ins, to = append(ins, o), ops.Merge(to, p.TypeOf(o).DType)
		}
		switch {
		case op.Info().Compare:
			to = ops.U8
		case r.IntN(3) == 0:
			to = one()
		}
		if outs, ok := p.Add(op, []ops.DType{to}, nil, nil, ins...); ok {
			pool = append(pool, outs...)
		}
	}
	return p.Region(pool[3:]...)
}

// whole runs a program on drawn whole numbers, and reads its results.
func (r *rig) whole(q *Queue, key string, p *ops.Region, seed uint64) [][]byte {
	return r.drawn(q, key, p, seed, func(param ops.Type, draws *rand.Rand) []byte { return draw.Whole(draws, param) })
}

// drawn runs a program on the elements that data draws for each parameter, and reads its results.
func (r *rig) drawn(q *Queue, key string, p *ops.Region, seed uint64, data func(ops.Type, *rand.Rand) []byte) (results [][]byte) {
	types, err := p.CheckProgram()
	if err != nil {
		r.T.Fatal(err)
	}
	var ins []ops.Operand
	draws, id := rand.New(rand.NewPCG(seed, 1)), ops.ID(0)
	for _, param := range p.Params {
		id++
		r.Do(q, ops.Tensor, id, param.Type, nil, ops.Operand{Lit: &ops.Literal{Type: param.Type, Data: data(param.Type, draws)}})
		ins = append(ins, ref(id))
	}
	var outs []ops.Result
	for _, t := range types {
		id++
		outs = append(outs, res(id, t))
	}
	r.run(q, key, outs, ins...)
	for _, o := range outs {
		results = append(results, r.bytes(q, o.ID))
	}
	for ; id > 0; id-- {
		r.Free(q, id)
	}
	return results
}

// BenchmarkLittleFusion is a run of a program of threefry's rounds on a key of two words, which is a fusion of so many instructions.
func BenchmarkLittleFusion(b *testing.B) {
	for _, rounds := range []int{1, 4, 20} {
		for _, way := range []string{"one kernel", "one by one"} {
			b.Run(fmt.Sprintf("%d/%s", 7*rounds+11, way), func(b *testing.B) { benchLittle(b, rounds, way == "one by one") })
		}
	}
}

func benchLittle(b *testing.B, rounds int, oneByOne bool) {
	posted := make(chan func(), 1<<16)
	cfg := placeOf(b, harness.Open(b, vulkan.Options{}))
	cfg.HostLimit, cfg.OneByOne, cfg.Post = 512, oneByOne, func(f func()) { posted <- f }
	e := New(cfg)
	e.specializer.Enough = 2
	q := e.Queue(store.NewSession(gen.PID{Node: "bench"}))
	key := ops.Type{DType: ops.U32, Shape: ops.Shape{2}}
	instr := func(o ops.Op, key string, outs []ops.Result, attrs [][]int, ins ...ops.Operand) {
		e.Stream(q, []wire.Instr{{Name: o.String(), Defines: wire.Defines{Key: key}, Instr: ops.Instr{Op: o, Outs: outs, Attrs: attrs, Ins: ins}}})
	}
	e.Stream(q, []wire.Instr{{Name: "program", Defines: wire.Defines{Key: "p", Program: threefry(rounds, key)}, Instr: ops.Instr{Op: ops.Program}}})
	instr(ops.Tensor, "", []ops.Result{res(1, key)}, nil, ops.Operand{Lit: &ops.Literal{Type: key, Data: make([]byte, 8)}})
	run := func() {
		instr(ops.Run, "p", []ops.Result{res(2, key)}, nil, ref(1))
		instr(ops.Free, "", nil, [][]int{{2}})
		for q.queue.Len() > 0 {
			(<-posted)()
		}
	}
	for range 4 {
		run()
		for e.Building() > 0 {
			(<-posted)()
		}
	}
	for b.Loop() {
		run()
	}
}

// threefry is so many rounds of Nx's random words of a key, two of them: seven instructions each, on words that are taken from
// the key and put together again.
func threefry(rounds int, key ops.Type) *ops.Region {
	p := draw.NewBuilder()
	k, word := p.Param(key), ops.Type{DType: key.DType}
	do := func(o ops.Op, ins ...ops.Operand) ops.Operand { return p.Do(o, word, nil, ins...) }
	take := func(x ops.Operand, i int) ops.Operand {
		one := p.Do(ops.Slice, ops.Type{DType: key.DType, Shape: ops.Shape{1}}, [][]int{{i}, {1}, {1}}, x)
		return p.Do(ops.Squeeze, word, [][]int{{0}}, one)
	}
	number := func(d ops.DType, x int) ops.Operand { return draw.Number(d, float64(x)) }
	counter := p.Do(ops.Iota, key, [][]int{{-1}})
	first, second := take(k, 0), take(k, 1)
	x, y := do(ops.Add, take(counter, 0), first), do(ops.Add, take(counter, 1), second)
	for i := range rounds {
		by := 1 + i%31
		x = do(ops.Add, x, y)
		y = do(ops.BitwiseOr, do(ops.LeftShift, y, number(ops.U8, by)), do(ops.RightShift, y, number(ops.U8, 32-by)))
		y = do(ops.Add, do(ops.Add, do(ops.BitwiseXor, y, x), second), number(ops.U32, i))
	}
	both := p.Do(ops.Stack, key, [][]int{{0}}, x, y)
	return p.Region(p.Do(ops.Reshape, key, nil, both))
}
