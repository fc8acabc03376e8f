package sweep

import (
	"cmp"
	"slices"
	"testing"

	"nxvk/gen/exec/target"
	"nxvk/synth"
)

// Drivers compile the kernels of a case side by side, each in time that grows with its words of
// SPIR-V. These bounds hold the first result of any case; `nxvk-node doctor --kernels --cases`
// measures the kernels on a device.
const (
	mostWords   = 35000  // of a kernel
	mostAll     = 100000 // of all kernels of an operation
	mostKernels = 32     // of an operation
)

// TestKernels counts the kernels that first results wait for on a GPU. With -v it lists the
// cases that have most to compile.
func TestKernels(t *testing.T) {
	type need struct {
		*Case
		list  []synth.Listed
		words int
		long  synth.Listed // the longest
	}
	gpu := target.GPU()
	var all []need
	for seed := range uint64(8) {
		cases, err := Draw(Options{Seed: seed, Count: 400, MaxBytes: MaxBytes})
		if err != nil {
			t.Fatal(err)
		}
		for i := range cases {
			n := need{Case: &cases[i]}
			if n.Program {
				continue
			}
			if n.list, err = Kernels(n.Case, gpu); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, k := range n.list {
				if n.words += len(k.Code); n.long.Kernel == nil || len(k.Code) > len(n.long.Code) {
					n.long = k
				}
			}
			if len(n.list) > 0 {
				all = append(all, n)
			}
			if n.words > mostAll || len(n.list) > mostKernels || n.words > 0 && len(n.long.Code) > mostWords {
				t.Errorf("seed %d, %s: %d kernels of %d words, at most %d of %d are wanted; the longest has %d, at most %d are wanted: %s",
					seed, n.Name, len(n.list), n.words, mostKernels, mostAll, len(n.long.Code), mostWords, n.long.For)
			}
		}
	}
	slices.SortFunc(all, func(x, y need) int { return cmp.Compare(y.words, x.words) })
	for _, n := range all[:min(40, len(all))] {
		t.Logf("%6d words in %2d kernels, at most %5d: %s (%.50s)", n.words, len(n.list), len(n.long.Code), n.Name, n.long.For)
	}
}
