package exec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// TestCollectives: every rank gets what the definition says, for all types and sizes, eagerly and in programs,
// and nothing is left behind.
func TestCollectives(t *testing.T) {
	fleets(t, func(f *fleet) {
		rng := rand.New(rand.NewPCG(17, 3))
		sizes := []int{1, 60, 4 << 10, 100_000}
		for i := range fewtest.Of(24, 8) {
			size := sizes[rng.IntN(len(sizes))]
			if i == 0 {
				size = 18 << 20 // several chunks
			}
			c := drawCollective(rng, len(f.rigs), size)
			f.carryOut(rng, i, &c)
		}
		f.endEmpty()
		for node, meshes := range f.meshes {
			if n := meshes.Count(); n != 0 {
				t.Errorf("node %s: %d meshes are left", node, n)
			}
		}
	})
}

// carryOut has all ranks carry out a case, eagerly or in a program, and compares what they get.
func (f *fleet) carryOut(rng *rand.Rand, i int, c *collectiveCase) {
	f.Helper()
	t := f.T
	name := fmt.Sprintf("case %d: %v %d of %v among %v", i, c.op, c.operator, c.t, c.groups)
	asProgram := rng.IntN(2) == 1
	for _, rank := range rng.Perm(len(f.rigs)) {
		r, q := f.rigs[rank], f.qs[rank]
		f.tensor(rank, 1, c.t, cast(t, c.t.DType, c.operands[rank]))
		if !asProgram {
			r.Do(q, c.op, 2, c.out, c.attrs(rank), ref(1))
			r.Do(q, ops.Add, 3, c.out, nil, ref(2), ref(2))
			continue
		}
		in := ops.Instr{Op: c.op, Ins: uses(2), Outs: []ops.Result{res(3, c.out)}, Attrs: c.attrs(rank)}
		key := fmt.Sprint("p", i)
		r.Define(q, key, &ops.Region{Params: []ops.Result{res(1, c.t)}, Body: []ops.Instr{
			{Op: ops.Reverse, Ins: uses(1), Outs: []ops.Result{res(4, c.t)}, Attrs: [][]int{{len(c.t.Shape) - 1}}},
			{Op: ops.Reverse, Ins: uses(4), Outs: []ops.Result{res(2, c.t)}, Attrs: [][]int{{len(c.t.Shape) - 1}}},
			in, op(ops.Add, res(5, c.out), ref(3), ref(3))}, Values: uses(3, 5)})
		f.run(rank, key, uint64(i+1), []ops.Result{res(2, c.out), res(3, c.out)}, uses(1)...)
	}
	for rank := range f.rigs {
		got, err := f.rigs[rank].bytesOf(f.qs[rank], 2)
		want := cast(t, c.t.DType, c.want[rank])
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: rank %d: %v; got %d bytes, want %d", name, rank, err, len(got), len(want))
		}
		if _, err := f.rigs[rank].bytesOf(f.qs[rank], 3); err != nil {
			t.Fatalf("%s: rank %d: %v", name, rank, err)
		}
		f.rigs[rank].Do(f.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{1, 2, 3}})
	}
}

// run runs a program on a rank, in a round.
func (f *fleet) run(rank int, key string, round uint64, outs []ops.Result, ins ...ops.Operand) {
	f.rigs[rank].exec.Stream(f.qs[rank], []wire.Instr{{Name: "run", Instr: ops.Instr{Op: ops.Run, Outs: outs, Ins: ins},
		Defines: wire.Defines{Key: key, Round: round, Callbacks: &etf.Pid{Node: "a@b", ID: 3}}}})
}

// TestCollectiveOrder: sums are those of the ranks one after the other, with the same bits on all ranks,
// whoever comes first. Those of bf16 are rounded once.
func TestCollectiveOrder(t *testing.T) {
	fleets(t, func(f *fleet) {
		rng := rand.New(rand.NewPCG(17, 4))
		const n = 50_000
		wants := make([]float32, n)
		operands := make([][]float32, len(f.rigs))
		for r := range operands {
			operands[r] = make([]float32, n)
			for i := range operands[r] {
				operands[r][i] = float32(rng.NormFloat64() * 1e3)
				wants[i] += operands[r][i]
			}
		}
		typ, narrow := f32(n), ops.Type{DType: ops.BF16, Shape: ops.Shape{n}}
		for _, rank := range rng.Perm(len(f.rigs)) {
			f.tensor(rank, 1, typ, floats(operands[rank]...))
			f.rigs[rank].Do(f.qs[rank], ops.AllReduce, 2, typ, [][]int{f.all(), {0}}, ref(1))
			f.tensor(rank, 3, narrow, convert(t, typ, narrow, floats(operands[rank]...)))
			f.rigs[rank].Do(f.qs[rank], ops.AllReduce, 4, narrow, [][]int{f.all(), {0}}, ref(3))
		}
		exact := make([]float32, n)
		for r := range operands {
			rounded := convert(t, narrow, typ, convert(t, typ, narrow, floats(operands[r]...)))
			for i := range exact {
				exact[i] += f32At(rounded, i)
			}
		}
		for rank := range f.rigs {
			if got, err := f.rigs[rank].bytesOf(f.qs[rank], 2); err != nil || !bytes.Equal(got, floats(wants...)) {
				t.Errorf("rank %d has other bits, or %v", rank, err)
			}
			if got, err := f.rigs[rank].bytesOf(f.qs[rank], 4); err != nil || !bytes.Equal(got, convert(t, typ, narrow, floats(exact...))) {
				t.Errorf("rank %d has other bits of bf16, or %v", rank, err)
			}
		}
	})
}

// TestCollectiveFaults: where ranks do not fit together, all of them have an error that names one.
func TestCollectiveFaults(t *testing.T) {
	fleets(t, func(f *fleet) {
		last := len(f.rigs) - 1
		id := ops.ID(0)
		wrong := func(text string, kind wire.Kind, different func(r *rig, q *Queue)) {
			t.Helper()
			id += 10
			for rank, r := range f.rigs {
				r.Tensor(f.qs[rank], id, 1, 2)
				if rank == last {
					different(r, f.qs[rank])
					continue
				}
				r.Do(f.qs[rank], ops.AllReduce, id+1, f32(2), [][]int{f.all(), {0}}, ref(id))
			}
			began := time.Now()
			for rank, r := range f.rigs {
				_, err := r.bytesOf(f.qs[rank], id+1)
				if err == nil || rank != last && (wire.KindOf(err) != kind || !strings.Contains(err.Error(), fmt.Sprint("rank ", last)) ||
					!strings.Contains(err.Error(), text)) {
					t.Errorf("rank %d: %v is of kind %v; want %v, naming rank %d, with %q", rank, err, wire.KindOf(err), kind, last, text)
				}
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s took %v", text, took)
			}
		}
		do := func(op ops.Op, t ops.Type, attrs [][]int, arg func() ops.Operand) func(*rig, *Queue) {
			return func(r *rig, q *Queue) { r.Do(q, op, id+1, t, attrs, arg()) }
		}
		one := func() ops.Operand { return ref(id) }
		wrong("all_reduce by max", wire.BadArgument, do(ops.AllReduce, f32(2), [][]int{f.all(), {2}}, one))
		wrong("all_gather of f32{2}", wire.BadArgument, do(ops.AllGather, f32(len(f.rigs), 2), [][]int{f.all()}, one))
		wrong("of f32{3}", wire.BadArgument, func(r *rig, q *Queue) {
			r.Tensor(q, id+2, 1, 2, 3)
			r.Do(q, ops.AllReduce, id+1, f32(3), [][]int{f.all(), {0}}, ref(id+2))
		})
		wrong("is not held", wire.RankFailed, func(r *rig, q *Queue) {
			r.Do(q, ops.AllReduce, id+1, f32(2), [][]int{f.all(), {0}}, ref(id+5))
		})
		wrong("among ranks", wire.BadArgument, do(ops.AllReduce, f32(2), [][]int{{last, 0}, {0}}, one))
		wrong("must be", wire.RankFailed, do(ops.AllReduce, f32(7), [][]int{f.all(), {0}}, one))
		wrong("raise the limit", wire.RankFailed, func(r *rig, q *Queue) {
			q.Session.Limit = q.Session.Bytes()
			r.Do(q, ops.AllReduce, id+1, f32(2), [][]int{f.all(), {0}}, ref(id))
		})
	})
}

// TestCollectiveRounds: runs of the same round meet, in whatever order the sessions have them; a run that ends
// before its collective fails that of the others.
func TestCollectiveRounds(t *testing.T) {
	fleets(t, func(f *fleet) {
		sum := &ops.Region{Params: []ops.Result{res(1, f32(3))}, Body: []ops.Instr{
			{Op: ops.AllReduce, Ins: uses(1), Outs: []ops.Result{res(2, f32(3))}, Attrs: [][]int{f.all(), {0}}},
			{Op: ops.AllReduce, Ins: uses(2), Outs: []ops.Result{res(3, f32(3))}, Attrs: [][]int{f.all(), {0}}}}, Values: uses(3)}
		n := float32(len(f.rigs))
		for rank, r := range f.rigs {
			r.Define(f.qs[rank], "sum", sum)
			r.Tensor(f.qs[rank], 1, 1, 1, 1)
			r.Tensor(f.qs[rank], 2, 2, 2, 2)
			first := rank % 2
			for i := range 2 {
				at := (first + i) % 2
				f.run(rank, "sum", uint64(at+7), []ops.Result{res(ops.ID(10+at), f32(3))}, ref(ops.ID(1+at)))
			}
		}
		for rank, r := range f.rigs {
			r.Want(f.qs[rank], 10, n*n, n*n, n*n)
			r.Want(f.qs[rank], 11, 2*n*n, 2*n*n, 2*n*n)
			f.run(rank, "sum", 9, []ops.Result{res(12, f32(3))}, ref(map[bool]ops.ID{true: 1, false: 99}[rank > 0]))
		}
		for rank, r := range f.rigs {
			_, err := r.bytesOf(f.qs[rank], 12)
			if rank > 0 && (wire.KindOf(err) != wire.RankFailed || !strings.Contains(err.Error(), "rank 0")) || err == nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		f.run(0, "sum", 0, []ops.Result{res(13, f32(3))}, ref(1))
		f.rigs[0].WantKind(f.qs[0], 13, wire.BadArgument)
		f.idle()
		for _, q := range f.qs {
			if q.Wait() != 0 || len(q.asyncs) != 0 {
				t.Errorf("a session waits for %v, %d async runs are left", q.Wait(), len(q.asyncs))
			}
		}
	})
}

// TestCollectiveWaits: only what needs the result waits, and shows for what.
func TestCollectiveWaits(t *testing.T) {
	f := newFleet(t, "host", "host")
	r, q := f.rigs[0], f.qs[0]
	r.Tensor(q, 1, 1)
	r.Do(q, ops.AllReduce, 2, f32(1), [][]int{{0, 1}, {0}}, ref(1))
	r.Do(q, ops.AllReduce, 3, f32(1), [][]int{{0, 1}, {0}}, ref(2))
	r.Free(q, 1)
	r.Tensor(q, 4, 5)
	r.Want(q, 4, 5)
	if q.asyncs[0].Wait() != queue.ForMesh {
		t.Errorf("waits for %v", q.asyncs[0].Wait())
	}
	f.rigs[1].Tensor(f.qs[1], 1, 2)
	f.rigs[1].Do(f.qs[1], ops.AllReduce, 2, f32(1), [][]int{{0, 1}, {0}}, ref(1))
	f.rigs[1].Do(f.qs[1], ops.AllReduce, 3, f32(1), [][]int{{0, 1}, {0}}, ref(2))
	r.Want(q, 3, 6)
	f.rigs[1].Want(f.qs[1], 3, 6)
}

// collectiveEnds are the ways in which a rank ends.
var collectiveEnds = map[string]func(f *fleet){
	"session": func(f *fleet) { f.rigs[0].exec.End(f.qs[0].Session) },
	"killed":  func(f *fleet) { f.rigs[0].exec.EndExports(errSessionEnded); f.rigs[0].exec.EndNow(f.qs[0].Session) },
	"late": func(f *fleet) {
		q := f.qs[0]
		for _, a := range slices.Clone(q.asyncs) {
			if a.run != nil {
				f.rigs[0].exec.interpreter.stop(a, a.run, wire.Late(time.Second))
			} else if a.incoming != nil {
				a.incoming.fail(wire.Late(time.Second))
			}
		}
	},
	"cancel": func(f *fleet) {
		f.rigs[0].exec.Stream(f.qs[0], []wire.Instr{{Name: "cancel", Instr: ops.Instr{Op: ops.Cancel, Attrs: [][]int{{5}}}}})
	},
}

// TestCollectiveEnds: sessions end and servers are killed, runs are cancelled and late, at any time. Then all ranks have the
// result, or an error that names the rank, and no memory is left.
func TestCollectiveEnds(t *testing.T) {
	for _, kinds := range []string{"host host", "GPU GPU", "host GPU device host", "host | host", "GPU host | device | host"} {
		for name, end := range collectiveEnds {
			t.Run(kinds+" "+name, func(t *testing.T) {
				f := newFleet(t, strings.Fields(kinds)...)
				rng := rand.New(rand.NewPCG(17, 5))
				for _, q := range f.qs {
					f.rigs[0].exec.End(q.Session)
				}
				base := uint64(0)
				for steps := range 12 {
					if !fewtest.Step(steps, 12) {
						continue
					}
					f.endAt(steps, rng, end)
					f.idle()
					if steps == 0 {
						base = f.used()
						continue
					}
					for _, r := range f.rigs {
						r.Settle(10 * time.Millisecond)
					}
					if n := f.used(); n > base {
						t.Fatalf("after %d turns %d bytes are in use, were %d", steps, n, base)
					}
				}
			})
		}
	}
}

// endAt has something end after so many turns of a collective of programs.
func (f *fleet) endAt(steps int, rng *rand.Rand, end func(*fleet)) {
	f.Helper()
	for rank, q := range f.qs {
		f.rigs[rank].exec.End(q.Session)
	}
	f.open(fmt.Sprint("mesh ", steps))
	const n = 5 << 20
	typ := f32(n)
	data := make([]byte, typ.Bytes())
	for i := 3; i < len(data); i += 4 {
		data[i] = byte(0x3f + rng.IntN(2))
	}
	program := &ops.Region{Params: []ops.Result{res(1, typ)}, Body: []ops.Instr{
		{Op: ops.AllReduce, Ins: uses(1), Outs: []ops.Result{res(2, typ)}, Attrs: [][]int{f.all(), {2}}}}, Values: uses(2)}
	eager := rng.IntN(2) == 0
	for rank, r := range f.rigs {
		f.tensor(rank, 1, typ, data)
		if eager {
			r.Do(f.qs[rank], ops.AllReduce, 5, typ, [][]int{f.all(), {2}}, ref(1))
			continue
		}
		r.Define(f.qs[rank], "p", program)
		f.run(rank, "p", 1, []ops.Result{res(5, typ)}, ref(1))
	}
	for ; steps > 0; steps-- {
		select {
		case g := <-f.rigs[0].Posted:
			g()
		case <-time.After(20 * time.Millisecond):
		}
	}
	end(f)
	began := time.Now()
	for rank, q := range f.qs {
		if q.Session.Ended {
			continue
		}
		got, err := f.rigs[rank].bytesOf(q, 5)
		if err == nil && !bytes.Equal(got, data) {
			f.Fatal("the result is wrong")
		}
		if err != nil && rank > 0 && (wire.KindOf(err) != wire.RankFailed || !strings.Contains(err.Error(), "rank 0")) {
			f.Fatalf("rank %d: %v", rank, err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		f.Errorf("the others ended after %v", took)
	}
	for rank, q := range f.qs {
		f.rigs[rank].exec.End(q.Session)
	}
}

func le64(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }

func f32At(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

// TestCollectiveOverlaps: what follows a collective in a program and does not need its result goes on before the other
// ranks have come, also from one round of a loop to the end of its body. What needs it waits.
func TestCollectiveOverlaps(t *testing.T) {
	for _, kinds := range []string{"host host", "GPU GPU", "host | host"} {
		t.Run(kinds, func(t *testing.T) {
			f := newFleet(t, strings.Fields(kinds)...)
			const n = 20_000
			typ := f32(n)
			// Two sums whose operands do not need each other, a hook between them, and one behind their use.
			sum := func(out, in ops.ID) ops.Instr {
				return ops.Instr{Op: ops.AllReduce, Ins: uses(in), Outs: []ops.Result{res(out, typ)}, Attrs: [][]int{f.all(), {0}}}
			}
			p := &ops.Region{Params: []ops.Result{res(1, typ)}, Body: []ops.Instr{
				sum(2, 1), op(ops.Add, res(3, typ), ref(1), ref(1)), sum(4, 3), op(ops.Multiply, res(5, typ), ref(3), ref(1)),
				{Op: ops.Hook, Ins: uses(5), Attrs: [][]int{{1}}}, op(ops.Add, res(6, typ), ref(2), ref(4)),
				{Op: ops.Hook, Ins: uses(6), Attrs: [][]int{{2}}}, sum(7, 6)}, Values: uses(7)}
			hooks := make([][]int, 2)
			ones := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, n)
			for rank, r := range f.rigs {
				r.exec.core.cfg.Call = func(c Call) { hooks[rank] = append(hooks[rank], c.Index) }
				r.Define(f.qs[rank], "p", p)
				f.tensor(rank, 1, typ, ones)
			}
			f.run(0, "p", 1, []ops.Result{res(10, typ)}, uses(1)...)
			f.rigs[0].Until(func() bool { return len(hooks[0]) == 1 })
			f.rigs[0].Settle(20 * time.Millisecond)
			if fmt.Sprint(hooks) != "[[1] []]" {
				t.Fatalf("hooks %v before the second rank has come", hooks)
			}
			f.run(1, "p", 1, []ops.Result{res(10, typ)}, uses(1)...)
			for rank, r := range f.rigs {
				got, err := r.bytesOf(f.qs[rank], 10)
				if err != nil || f32At(got, 0) != 12 || f32At(got, n-1) != 12 {
					t.Fatalf("rank %d: %v", rank, err)
				}
			}
			if fmt.Sprint(hooks) != "[[1 2] [1 2]]" {
				t.Errorf("hooks %v", hooks)
			}
			f.idle()
			for rank, q := range f.qs {
				if len(q.asyncs) != 0 {
					t.Errorf("rank %d: %d async runs are left", rank, len(q.asyncs))
				}
			}
		})
	}
}
