package exec

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/ops"
)

// drawer is an archive in memory.
type drawer struct {
	mu    sync.Mutex
	byKey map[string][]byte
}

func (d *drawer) Get(key string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byKey[key]
}

func (d *drawer) Put(key string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byKey[key] = data
}

func (d *drawer) keys() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.byKey))
}

// another begins another life of the Executor, with the archive of the first.
func (r *rig) another(kept *drawer) {
	target := *r.exec.core.target
	target.Archive = kept
	r.Settle(10 * time.Millisecond)
	enough := r.exec.specializer.Enough
	cfg := r.exec.core.cfg
	cfg.Target, cfg.WarmUp = target, r.exec.kernels.WarmUp
	r.drive(New(cfg))
	r.exec.specializer.Enough = enough
}

// A program that an earlier life has compiled runs in fusions at once, and no
// kernel but theirs is compiled. The bits are the same.
func TestWarmStart(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			return // the host compiles nothing
		}
		kept := &drawer{byKey: map[string][]byte{}}
		m := f32(6, 200)
		x := make([]float32, m.Size())
		for i := range x {
			x[i] = float32(math.Cos(float64(i))) * 4
		}
		var first []float32
		var dispatches []uint64
		var counts []int
		for life := range 3 {
			r.another(kept)
			q := r.session()
			r.Define(q, "softmax", softmax(6, 200))
			r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(x...)}})
			runs := []int{3, 1, 1}[life]
			for i := range runs {
				before := r.exec.Counters().Dispatches
				id := ops.ID(10 + 2*i)
				r.run(q, "softmax", []ops.Result{res(id, m), res(id+1, m)}, ref(1), scalar(3))
				got, err := r.Read(q, id, 0, math.MaxInt)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Fatalf("life %d, run %d: other bits", life, i)
				}
				r.Built()
				if i == runs-1 {
					dispatches = append(dispatches, r.exec.Counters().Dispatches-before)
				}
			}
			_, n, _ := r.exec.kernels.Len()
			counts = append(counts, n)
		}
		if dispatches[1] != dispatches[0] || dispatches[2] != dispatches[0] {
			t.Errorf("dispatches of the last run of each life: %v", dispatches)
		}
		if counts[1] >= counts[0] || counts[2] != counts[1] {
			t.Errorf("kernels of each life: %v", counts)
		}
		if n := len(kept.keys()); n == 0 {
			t.Error("nothing is kept")
		}
	})
}

// A trace of a stream that an earlier life has compiled runs in fusions when it is first
// seen, and no kernel but theirs is compiled. The bits are the same.
func TestWarmStartOfTrace(t *testing.T) {
	lazily(t, func(r *rig) {
		kept := &drawer{byKey: map[string][]byte{}}
		v := f32(300)
		stream := func(q *Queue) []float32 {
			r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
			w := ops.ID(1)
			for _, op := range []ops.Op{ops.Cos, ops.Abs, ops.Sqrt, ops.Negate, ops.Exp} {
				r.point(q, op, w+1, v, ref(w))
				r.Free(q, w)
				w++
			}
			got, err := r.Read(q, w, 0, 300)
			if err != nil {
				r.Fatal(err)
			}
			r.Free(q, w)
			r.Built()
			return got
		}
		var first []float32
		var compiled []int
		for life, runs := range []int{4, 1} {
			r.another(kept)
			q := r.session()
			for i := range runs {
				before := r.exec.Counters().Dispatches
				got := stream(q)
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					r.Fatalf("life %d, run %d: other bits", life, i)
				}
				if n := r.exec.Counters().Dispatches - before; i == runs-1 && n != 1 {
					r.Errorf("life %d: %d dispatches at last, want 1", life, n)
				}
			}
			compiled = append(compiled, r.askedKernels())
		}
		if compiled[0] < 6 || compiled[1] != 1 {
			r.Errorf("kernels compiled in each life: %v", compiled)
		}
	})
}

// A run that waits for its specialization ends with its session, and others go on.
func TestWarmStartEnds(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			return // the host compiles nothing
		}
		kept := &drawer{byKey: map[string][]byte{}}
		m := f32(3, 40)
		begin := func(q *Queue) {
			r.Define(q, "softmax", softmax(3, 40))
			r.Do(q, ops.Iota, 1, m, [][]int{{-1}})
			r.run(q, "softmax", []ops.Result{res(10, m), res(11, m)}, ref(1), scalar(3))
		}
		r.another(kept)
		q := r.session()
		for range r.exec.specializer.Enough {
			begin(q)
			r.Built()
		}
		want, err := r.Read(q, 10, 0, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		r.another(kept)
		a, b := r.session(), r.session()
		begin(a)
		begin(b)
		if a.waits == 0 || b.waits == 0 {
			t.Fatal("the first runs do not wait for their fusions")
		}
		r.exec.End(a.Session)
		got, err := r.Read(b, 10, 0, math.MaxInt)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

// plans reports whether a queue waits for the plan of an instruction.
func (r *rig) plans(q *Queue) bool {
	return q.waits == queue.ForPlan && (q.run == nil || q.run.specialization == nil)
}

// askedKernels counts the kernels that the driver has been given.
func (r *rig) askedKernels() (n int) {
	r.exec.kernels.Each(func(k *kernels.Kernel) {
		if k.Asked() {
			n++
		}
	})
	return n
}

// Where the host stands in for the device, the first run of each life is that of the
// first life: it waits for no fusion and for no driver, whatever is archived. What earlier
// lives have compiled is made ready when the program is seen again, and the device takes
// over without its having been earned.
func TestWarmStartOnProcessor(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		kept := &drawer{byKey: map[string][]byte{}}
		m := f32(6, 200)
		x := make([]float32, m.Size())
		for i := range x {
			x[i] = float32(math.Cos(float64(i))) * 4
		}
		var want []float32
		var firstRun Counters
		for life := range 4 {
			r.another(kept)
			q := r.session()
			r.Define(q, "softmax", softmax(6, 200))
			r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(x...)}})
			run := func() {
				r.run(q, "softmax", []ops.Result{res(10, m), res(11, m)}, ref(1), scalar(3))
				r.Until(func() bool { // the host is at work
					return !q.job.Busy() && !r.exec.queues.turns.Waits(q) && !r.plans(q)
				})
				if q.waits != 0 {
					r.Fatalf("life %d: a run waits", life)
				}
				got, err := r.Read(q, 10, 0, math.MaxInt)
				if err != nil {
					r.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					r.Fatalf("life %d: other bits", life)
				}
				r.Free(q, 10)
				r.Free(q, 11)
			}
			run()
			if life == 0 {
				firstRun = r.exec.Counters()
			}
			c := r.exec.Counters()
			c.Waits = firstRun.Waits // these depend on how fast things are
			if c != firstRun || c.Interpreted == 0 || r.askedKernels() != 0 {
				r.Errorf("life %d: the first run is %+v with %d kernels compiled, in the first life it is %+v",
					life, c, r.askedKernels(), firstRun)
			}
			r.Built()
			for range r.exec.specializer.Enough {
				run()
				r.Built()
			}
			ready := r.askedKernels()
			switch {
			case life < 2 && ready != 0:
				r.Errorf("life %d: %d kernels are compiled, none has been earned", life, ready)
			case life == 1: // the fusions are earned, for the lives to come
				r.exec.kernels.Each(func(k *kernels.Kernel) { k.Charge(math.MaxInt32) })
				run()
				r.Built()
			case life > 1 && (ready == 0 || r.exec.Counters().Dispatches == 0):
				r.Errorf("life %d: %d kernels are made ready, the device carried out %d", life, ready, r.exec.Counters().Dispatches)
			}
		}
		for _, key := range kept.keys() {
			if strings.HasPrefix(key, "kernel ") {
				r.Fatal("a kernel is archived, of which the host has no use")
			}
		}
	})
}
