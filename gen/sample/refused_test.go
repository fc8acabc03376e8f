package sample

import (
	"bytes"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// The host takes the steps of a density whose kernel is refused, for {leapfrog, …} and
// for chains.
func TestRefusedDensity(t *testing.T) {
	var refuses atomic.Bool
	var refused atomic.Int64
	d := harness.Device(t, vulkan.Options{Fault: vulkan.Fault{Refuse: func(string) bool {
		if refuses.Load() {
			refused.Add(1)
		}
		return refuses.Load()
	}}})
	log := &bytes.Buffer{}
	r := newRig(t, d, func(c *exec.Config) {
		c.Target.CPU, c.Log = true, zerolog.New(log)
	})
	refuses.Store(true)
	session := r.Session()
	r.bell(session, 1, 0, 0)
	q, p, metric := []float64{1, -0.5}, []float64{0.3, 2}, []float64{1, 0.25}
	want := normal(q, p, metric, 0.1, 8)
	for range 2 {
		got, err := r.leap(session, &wire.Leapfrog{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, N: 1, K: 8, Step: 0.1,
			Q: q, P: p, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range floatsOf(got.Q, ops.F64) {
			if y := floatsOf(want.Q, ops.F64)[i]; math.Abs(x-y) > 1e-14 {
				t.Fatalf("position %d is %v, want %v", i, x, y)
			}
		}
	}
	r.trajectoryOf(session, "bell").refused = false // chains meet it themselves
	left, draws := 2, 0
	r.sampler.Sample(session, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 2, Chunk: 50,
		Options: nuts.Options{Warmup: 100, Draws: 100, Seed: 5}}, func(_ int, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}, func(_ int, c Chunk) bool {
		if draws += len(c.Draws); c.Draws == nil {
			left--
			if c.Err != nil {
				t.Error(c.Err)
			}
		}
		return true
	})
	r.Until(func() bool { return left == 0 })
	if draws != 200 {
		t.Errorf("%d draws, want 200", draws)
	}
	r.Built()
	n := refused.Load()
	if c := r.Exec.Counters(); n == 0 || c.Refused != uint64(n) || c.Failed != 0 || c.Dispatches != 0 || strings.Count(log.String(), "VK_ERROR_UNKNOWN") != int(n) {
		t.Errorf("%d kernels are refused, counted %+v; told is %s", n, c, log)
	}
}
