package sample

import (
	"testing"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// The kernel of a density is made apart: its session waits, others do not.
func TestTrajectoryApart(t *testing.T) {
	r := newRig(t, harness.Device(t, vulkan.Options{}))
	q := r.Session()
	r.bell(q, 1, 3, -1)
	var end error
	ended := false
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 1, Chunk: 5,
		Options: nuts.Options{Draws: 5, Step: 0.1, MaxDepth: 2, Fixed: true}}, func(_ int, err error) { end = err }, func(_ int, c Chunk) bool {
		ended = ended || c.Draws == nil
		return true
	})
	r.Until(func() bool { return r.trajectoryOf(q, "bell") != nil })
	other, read := r.Session(), 0
	r.Tensor(other, 1, 5, 6)
	r.Exec.Read(other, 1, 0, 2, func(d exec.Data, err error) { read = len(d.Bytes) })
	if read != 8 || q.Wait() != queue.ForPlan {
		t.Errorf("%d bytes are read at once, the session waits for %q", read, q.Wait())
	}
	if r.trajectoryOf(q, "bell").ready {
		t.Error("the kernel was made at once")
	}
	r.Until(func() bool { return ended })
	if end != nil {
		t.Error(end)
	}
}
