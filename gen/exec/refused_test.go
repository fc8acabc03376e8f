package exec

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nxvk/gen/exec/kernels"
	"nxvk/ops"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// refusals is a driver that refuses kernels, from when it is told to.
type refusals struct {
	all     atomic.Bool
	refused atomic.Int64
}

func (f *refusals) fault() vulkan.Fault {
	return vulkan.Fault{Refuse: func(string) bool {
		if f.all.Load() {
			f.refused.Add(1)
			return true
		}
		return false
	}}
}

// refusing is a rig whose driver refuses kernels from now on, and what is logged.
func refusing(t *testing.T) (*rig, *refusals, *bytes.Buffer) {
	f := &refusals{}
	r := newRig(t, device(t, vulkan.Options{Fault: f.fault()}))
	log := &bytes.Buffer{}
	r.exec.core.cfg.Log = zerolog.New(log)
	f.all.Store(true)
	return r, f, log
}

// An instruction whose kernel the driver refuses is the host's, and counted as such; so
// are those of a system of equations.
func TestRefusedInstruction(t *testing.T) {
	r, f, log := refusing(t)
	q := r.session()
	r.Tensor(q, 1, 1, 2, 3)
	r.Do(q, ops.Add, 2, f32(3), nil, ref(1), ref(1))
	r.Want(q, 2, 2, 4, 6)
	r.Do(q, ops.Multiply, 3, f32(3), nil, ref(2), ref(2))
	r.Want(q, 3, 4, 16, 36)
	r.Do(q, ops.Iota, 4, f32(2, 2), [][]int{{-1}})
	r.Want(q, 4, 0, 1, 2, 3)
	r.exec.core.target.CPU = false // factorisations of a GPU have kernels
	r.Do(q, ops.Add, 5, f32(2, 2), nil, ref(4), scalar(1))
	r.Do(q, ops.TriangularSolve, 7, f32(2, 2), [][]int{{1}, {1}, {0}}, ref(5), ref(5))
	r.Want(q, 7, 1, 2, 0, -0.5)
	if n := r.exec.Counters().Fallbacks; n < 5 {
		r.Errorf("%d instructions are counted as the host's, want 5 at least", n)
	}
	r.Built()
	if f.refused.Load() == 0 || !strings.Contains(log.String(), "VK_ERROR_UNKNOWN") {
		r.Errorf("nothing is told: %s", log)
	}
}

// A program goes on without its fusions, whose kernels are refused when it has been seen
// often, and then without any kernel.
func TestRefusedFusion(t *testing.T) {
	const rows, cols = 5, 60
	f := &refusals{}
	r := newRig(t, device(t, vulkan.Options{Fault: f.fault()}))
	q, m := r.session(), f32(rows, cols)
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	r.Define(q, "softmax", softmax(rows, cols))
	r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(x...)}})
	var first []float32
	for i := range 5 {
		id := ops.ID(10 + 2*i)
		r.run(q, "softmax", []ops.Result{res(id, m), res(id+1, m)}, ref(1), scalar(3))
		got, err := r.Read(q, id, 0, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
			f.all.Store(true) // the fusions are to come
		}
		if !slices.Equal(got, first) {
			t.Fatalf("run %d: other bits", i)
		}
		r.Built()
	}
	if n := f.refused.Load(); n == 0 || r.exec.Counters().Refused != uint64(n) || r.exec.Counters().Fallbacks != 0 {
		t.Errorf("%d kernels are refused, the counts are %+v", n, r.exec.Counters())
	}
	other := r.session()
	r.Define(other, "wider", softmax(rows, cols+1))
	r.Do(other, ops.Iota, 1, f32(rows, cols+1), [][]int{{-1}})
	for i := range 4 {
		id := ops.ID(10 + 2*i)
		r.run(other, "wider", []ops.Result{res(id, f32(rows, cols+1)), res(id+1, f32(rows, cols+1))}, ref(1), scalar(1))
		got, err := r.Read(other, id, 0, cols+1)
		sum := float32(0)
		for _, v := range got {
			sum += v
		}
		if err != nil || math.Abs(float64(sum-1)) > 1e-5 {
			t.Fatalf("got %v, %v", got, err)
		}
		r.Built()
	}
}

// Where the host stands in for the device it goes on with the kernel that is refused.
func TestRefusedWarmUp(t *testing.T) {
	warmingUp(t, -1, func(p, _ *rig) {
		f := &refusals{}
		r := newRig(p.T, device(p.T, vulkan.Options{Fault: f.fault()}))
		*r.exec.core.target, r.exec.kernels.WarmUp, r.exec.core.cfg.OneByOne = *p.exec.core.target, true, true
		r.limitHost(-1)
		f.all.Store(true)
		q, v := r.session(), f32(100)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		var first []float32
		for round := range 6 {
			r.point(q, ops.Sin, 2, v, ref(1))
			got, err := r.Read(q, 2, 0, 100)
			if err != nil {
				r.Fatal(err)
			}
			if round == 0 {
				first = got
			}
			if !slices.Equal(got, first) {
				r.Fatalf("round %d: other bits", round)
			}
			r.exec.kernels.Each(func(k *kernels.Kernel) { k.Charge(math.MaxInt32) }) // it is earned
			r.Free(q, 2)
			r.Built()
		}
		if c := r.exec.Counters(); c.Refused == 0 || c.Fallbacks != 0 || c.Dispatches != 0 || c.Interpreted < 6 {
			r.Errorf("%+v", c)
		}
	})
}
