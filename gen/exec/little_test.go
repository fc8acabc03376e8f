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
	if r.exec.Counters.Interpreted == 0 {
		t.Error("no kernel was interpreted")
	}
}

// whole runs a program on drawn whole numbers, and reads its results.
func (r *rig) whole(q *Queue, key string, p *ops.Region, seed uint64) (results [][]byte) {
	types, err := p.CheckProgram()
	if err != nil {
		r.T.Fatal(err)
	}
	var ins []ops.Operand
	draws, id := rand.New(rand.NewPCG(seed, 1)), ops.ID(0)
	for _, param := range p.Params {
		id++
		r.Do(q, ops.Tensor, id, param.Type, nil, ops.Operand{Lit: &ops.Literal{Type: param.Type, Data: draw.Whole(draws, param.Type)}})
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
			b.Run(fmt.Sprintf("%d/%s", 6*rounds, way), func(b *testing.B) { benchLittle(b, rounds, way == "one by one") })
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
	for id := range ops.ID(2) {
		instr(ops.Tensor, "", []ops.Result{res(id+1, key)}, nil, ops.Operand{Lit: &ops.Literal{Type: key, Data: make([]byte, 8)}})
	}
	run := func() {
		instr(ops.Run, "p", []ops.Result{res(3, key), res(4, key)}, nil, ref(1), ref(2))
		instr(ops.Free, "", nil, [][]int{{3, 4}})
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

// threefry is so many rounds of six instructions on a key and a counter.
func threefry(rounds int, key ops.Type) *ops.Region {
	p := draw.NewBuilder()
	do := func(o ops.Op, ins ...ops.Operand) ops.Operand { return p.Do(o, key, nil, ins...) }
	x, y := p.Param(key), p.Param(key)
	for range rounds {
		x = do(ops.Add, x, y)
		y = do(ops.BitwiseXor, x, do(ops.BitwiseOr, do(ops.LeftShift, y, draw.Number(ops.U32, 13)), do(ops.RightShift, y, draw.Number(ops.U32, 19))))
		y = do(ops.Add, y, draw.Number(ops.U32, 7))
	}
	return p.Region(x, y)
}
