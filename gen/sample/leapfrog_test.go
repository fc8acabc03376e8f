package sample

import (
	"math"
	"testing"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/exectest/rig"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// bell is the density of a normal number for each datum, around it: -(q - x)²/2.
func bell(n int) *ops.Region {
	v, s := ops.Type{DType: ops.F64, Shape: ops.Shape{n}}, ops.Type{DType: ops.F64}
	half := ops.Operand{Lit: &ops.Literal{Type: s, Data: rig.F64s(-0.5)}}
	fold := harness.Op(ops.Sum, harness.Res(5, s), harness.Ref(4))
	fold.Attrs = [][]int{{0}, {0}}
	return &ops.Region{Params: []ops.Result{harness.Res(1, v), harness.Res(2, v)}, Values: harness.Uses(6, 7), Body: []ops.Instr{
		harness.Op(ops.Subtract, harness.Res(3, v), harness.Ref(1), harness.Ref(2)),
		harness.Op(ops.Multiply, harness.Res(4, v), harness.Ref(3), harness.Ref(3)),
		fold,
		harness.Op(ops.Multiply, harness.Res(6, s), harness.Ref(5), half),
		harness.Op(ops.Negate, harness.Res(7, v), harness.Ref(3)),
	}}
}

func (r *bench) bell(q *exec.Queue, id ops.ID, x ...float64) {
	r.Define(q, "bell", bell(len(x)))
	t := ops.Type{DType: ops.F64, Shape: ops.Shape{len(x)}}
	r.Do(q, ops.Tensor, id, t, nil, ops.Operand{Lit: &ops.Literal{Type: t, Data: rig.F64s(x...)}})
}

// leap waits for the rows of a request.
func (r *bench) leap(q *exec.Queue, c *wire.Leapfrog) (rows Rows, err error) {
	r.Helper()
	done := false
	r.sampler.Leapfrog(q, c, func(got Rows, e error) { rows, err, done = kept(got), e, true })
	r.Until(func() bool { return done })
	return rows, err
}

// TestLeapfrogRows: the steps of two instances, against those of the host.
func TestLeapfrogRows(t *testing.T) {
	rigs(t, func(r *bench) {
		session := r.Session()
		r.bell(session, 1, 0, 0)
		q, p, metric := []float64{1, -0.5, 2, 3}, []float64{0.3, 2, -1, 0}, []float64{1, 0.25, 1, 1}
		got, err := r.leap(session, &wire.Leapfrog{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, N: 2, K: 32, Step: 0.1,
			Q: q, P: p, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			want := normal(q[2*i:2*i+2], p[2*i:2*i+2], metric[2*i:2*i+2], 0.1, 32)
			part := Rows{Q: got.Q[512*i : 512*i+512], P: got.P[512*i : 512*i+512], Grad: got.Grad[512*i : 512*i+512], LogP: got.LogP[256*i : 256*i+256]}
			for k, pair := range [][2][]byte{{part.Q, want.Q}, {part.P, want.P}, {part.Grad, want.Grad}, {part.LogP, want.LogP}} {
				a, b := floatsOf(pair[0], ops.F64), floatsOf(pair[1], ops.F64)
				for n := range b {
					if math.Abs(a[n]-b[n]) > 1e-14*math.Max(1, math.Abs(b[n])) {
						t.Fatalf("instance %d, array %d, number %d: %v, want %v", i, k, n, a[n], b[n])
					}
				}
			}
		}
	})
}

// TestSampleOnDevice: chains whose steps the device takes draw from the density,
// and the same ones whether they run alone or together.
func TestSampleOnDevice(t *testing.T) {
	rigs(t, func(r *bench) {
		q := r.Session()
		r.bell(q, 1, 3, -1)
		run := func(chains int) map[int][]*nuts.Draw {
			draws, left := make(map[int][]*nuts.Draw), chains
			s := &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: chains, Chunk: 50,
				Options: nuts.Options{Warmup: 100, Draws: 200, Seed: 5}}
			r.sampler.Sample(q, s, func(_ int, err error) {
				if err != nil {
					t.Fatal(err)
				}
			}, func(_ int, c Chunk) bool {
				if c.Draws == nil {
					left--
					if c.Err != nil {
						t.Error(c.Err)
					}
				}
				draws[c.Chain] = append(draws[c.Chain], c.Draws...)
				return true
			})
			r.Until(func() bool { return left == 0 })
			return draws
		}
		four, one := run(4), run(1)
		mean := 0.0
		for i, d := range four[0] {
			if d.Q[0] != one[0][i].Q[0] || d.Q[1] != one[0][i].Q[1] {
				t.Fatalf("draw %d differs where the chain runs alone", i)
			}
		}
		for _, chain := range four {
			for _, d := range chain {
				mean += d.Q[0] / 800
			}
		}
		if math.Abs(mean-3) > 0.25 {
			t.Errorf("mean %v, want 3", mean)
		}
		if n := q.Session.Buffers(); n != 1 {
			t.Errorf("%d values are held, want 1", n)
		}
		if r.Dev != nil {
			if r.trajectoryOf(q, "bell").density == nil {
				t.Error("no kernel was made")
			}
		}
	})
}

// TestSmallDensity: on a device that is a processor, chains of a small density
// stay on the host, and those of a large one do not; on others neither does.
func TestSmallDensity(t *testing.T) {
	const small, large = 2, 400
	for _, c := range []struct {
		name       string
		cpu        bool
		dim        int
		dispatches bool
	}{{"processor, small", true, small, false}, {"processor, large", true, large, true}, {"GPU, small", false, small, true}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, harness.Device(t, vulkan.Options{}), func(x *exec.Config) { x.Target.CPU, x.HostLimit = c.cpu, 100 })
			q := r.Session()
			r.bell(q, 1, make([]float64, c.dim)...)
			before, ended := r.Exec.Counters().Dispatches, false
			r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: c.dim}, Chains: 1, Chunk: 5,
				Options: nuts.Options{Draws: 5, Step: 0.1, MaxDepth: 2, Fixed: true}}, func(_ int, err error) {
				if err != nil {
					t.Fatal(err)
				}
			}, func(_ int, k Chunk) bool {
				ended = k.Draws == nil
				return true
			})
			r.Until(func() bool { return ended })
			if n := r.Exec.Counters().Dispatches - before; (n > 0) != c.dispatches {
				t.Errorf("%d dispatches", n)
			}
		})
	}
}

// TestDensityWithoutKernel: what no kernel computes runs on the host.
func TestDensityWithoutKernel(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 0)
	p, err := r.Exec.Services().Program(q, "bell")
	if err != nil {
		t.Fatal(err)
	}
	steps, wait := r.sampler.trajectory(q, p)
	if wait != 0 {
		t.Fatal("a kernel is being made")
	}
	if err := (&density{program: p, steps: steps}).device(); err != synth.ErrUnsupported {
		t.Errorf("got %v", err)
	}
}
