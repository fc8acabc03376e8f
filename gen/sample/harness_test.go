package sample

import (
	"bytes"
	"testing"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/rig"
	"nxvk/vulkan"
)

// bench is a Rig with a Sampler.
type bench struct {
	*rig.Rig
	sampler *Sampler
}

func newRig(t *testing.T, d *vulkan.Device, change ...func(*exec.Config)) *bench {
	t.Helper()
	return with(rig.New(t, d, change...))
}

func with(r *rig.Rig) *bench { return &bench{r, New(r.Exec)} }

// rigs runs a test on the host alone and on a device, where there is one.
func rigs(t *testing.T, test func(r *bench)) {
	rig.Rigs(t, func(r *rig.Rig) { test(with(r)) })
}

// trajectoryOf is what is known of the steps of a program, nil where nobody asked.
func (r *bench) trajectoryOf(q *exec.Queue, key string) *trajectory {
	r.Helper()
	p, err := r.Exec.Services().Program(q, key)
	if err != nil {
		r.Fatal(err)
	}
	t, _ := p.Above.(*trajectory)
	return t
}

// kept is a copy of lent results.
func kept(r Rows) Rows {
	defer r.Free()
	return Rows{Q: bytes.Clone(r.Q), P: bytes.Clone(r.P), Grad: bytes.Clone(r.Grad), LogP: bytes.Clone(r.LogP)}
}

// normal are leapfrog steps of independent normal numbers.
func normal(q, p, metric []float64, eps float64, k int) Rows {
	x := rig.NormalSteps(q, p, metric, eps, k)
	return Rows{Q: x[0], P: x[1], Grad: x[2], LogP: x[3]}
}
