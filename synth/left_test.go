package synth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// factored are the operations on matrices, which are computed in another place on processors than on GPUs.
const factored = "triangular_solve cholesky solve qr eigh svd lu determinant"

// onHost lists the operations without code for a device with all types, by the
// reason. An operation that gains device code must leave the list; one that
// loses it fails the test. An order or a bit count of such numbers does not exist:
// the host refuses these too.
var onHost = map[string]string{
	"complex: no code for it": "remainder min max greater less greater_equal less_equal ceil floor round clip " +
		"reduce_max reduce_min argmax argmin window_max window_min window_scatter_max window_scatter_min " +
		"sort argsort top_k cumulative_min cumulative_max",
	"floats, complex: no code for it": "count_leading_zeros population_count",
}

func TestLeftToHost(t *testing.T) {
	gpus, processors := maps.Clone(onHost), maps.Clone(onHost)
	processors["all: factors are computed on the host where the device is a processor"] = factored
	for name, want := range map[string]map[string]string{"gpu": gpus, "cpu": processors} {
		t.Run(name, func(t *testing.T) {
			got := left(synthtest.Targets[name])
			for reason := range got {
				if got[reason] != want[reason] {
					t.Errorf("%s\ngot  %s\nwant %s", reason, got[reason], want[reason])
				}
			}
			for reason := range want {
				if got[reason] == "" {
					t.Errorf("%s: nothing is left any more", reason)
				}
			}
		})
	}
}

// left lists the operations that a device leaves to the host, by the types and the
// reason.
func left(target *lowering.Target) map[string]string {
	able := func(ops.Op, ops.DType) error { return nil }
	all := map[string][]string{}
	for op := ops.Op(0); op < ops.Count; op++ {
		types := map[string][]ops.DType{}
		for _, d := range ops.DTypes() {
			if place, reason := synth.Support(op, d, target, able); place == synth.OnHost {
				types[reason] = append(types[reason], d)
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(types)) {
			key := fmt.Sprintf("%s: %s", ops.TypeNames(types[reason]), reason)
			all[key] = append(all[key], op.String())
		}
	}
	text := map[string]string{}
	for key, names := range all {
		text[key] = strings.Join(names, " ")
	}
	return text
}
