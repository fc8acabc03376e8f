package chain

import (
	"testing"

	"nxvk/gen/exec/exectest/rig"
	"nxvk/vulkan"
)

// bench is a Rig with Chains.
type bench struct {
	*rig.Rig
	chains *Chains
}

func newRig(t *testing.T, d *vulkan.Device, allow bool) *bench {
	t.Helper()
	r := rig.New(t, d)
	return &bench{r, New(r.Exec, allow)}
}
