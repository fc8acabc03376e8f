package synth_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// drawer is an archive in memory that counts.
type drawer struct {
	mu          sync.Mutex
	byKey       map[string][]byte
	puts, found int
}

func (d *drawer) Get(key string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey[key] != nil {
		d.found++
	}
	return d.byKey[key]
}

func (d *drawer) Put(key string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.puts++
	d.byKey[key] = data
}

// forget begins another life of the process.
func forget() {
	codegen.CompiledKernels.Mu.Lock()
	defer codegen.CompiledKernels.Mu.Unlock()
	codegen.CompiledKernels.ByKey, codegen.CompiledKernels.Order = map[string]*lowering.Kernel{}, nil
}

// A second life compiles nothing, and has the plans of the first: every kernel that
// is not of package shaders comes out of the archive, those in which a product carries
// out other operations too.
func TestArchive(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		kept := &drawer{byKey: map[string][]byte{}}
		with := *target
		with.Archive = kept
		var first []string
		for life := range 2 {
			forget()
			kept.puts, kept.found = 0, 0
			var plans []string
			for _, name := range []string{"adam", "mlp", "softmax"} {
				g := synthtest.Patterns(t)[name]
				for _, u := range synth.Fuse(&g.Graph, &with) {
					p, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return g.Types[id] }, &with)
					if err != nil {
						t.Fatal(err)
					}
					plans = append(plans, describePlan(p))
				}
			}
			if life == 0 {
				first = plans
				if kept.puts == 0 {
					t.Error("nothing is kept")
				}
				continue
			}
			if made := len(codegen.CompiledKernels.ByKey); kept.puts != 0 || kept.found != made || made == 0 {
				t.Errorf("the second life: %d kernels, %d of them archived, %d compiled and archived", made, kept.found, kept.puts)
			}
			if !reflect.DeepEqual(plans, first) {
				t.Errorf("other plans: %s", differing(first, plans))
			}
		}
	})
	forget() // the kernels of others have IR
}

// describePlan is everything of a plan, but for what its kernels were made of.
func describePlan(p *lowering.Plan) string {
	text := fmt.Sprint(p.Temps, p.Alias, p.Checks)
	for _, s := range p.Steps {
		k := *s.Kernel
		k.IR, k.Host = nil, nil
		text += fmt.Sprint(k, s.Args, s.Push, s.Lits, s.Grid, s.Bytes, s.Flops)
	}
	return text
}

// differing shows where the first of two plans that are not the same begin to differ.
func differing(a, b []string) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d", len(a), len(b))
	}
	for i := range a {
		for k := range min(len(a[i]), len(b[i])) {
			if a[i][k] != b[i][k] {
				from := max(0, k-40)
				return fmt.Sprintf("plan %d: %.80q and %.80q", i, a[i][from:], b[i][from:])
			}
		}
	}
	return "one ends before the other"
}

// An entry that is not a kernel is compiled again.
func TestArchiveMalformed(t *testing.T) {
	for n := range 4 * codegen.ArchiveHead {
		if k := codegen.DecodeKernel(make([]byte, n)); k != nil {
			t.Errorf("%d bytes are a kernel", n)
		}
	}
	if codegen.DecodeKernel(make([]byte, 4*codegen.ArchiveHead+6)) != nil {
		t.Error("half a word is taken")
	}
	head := make([]uint32, codegen.ArchiveHead)
	head[codegen.ArchiveHead-1] = 3
	if codegen.DecodeKernel(codegen.CodeBytes(append(head, 1, 2))) != nil {
		t.Error("two of three specialisation constants are taken")
	}
}

// The kernels of attention on matrix hardware have the same names and constants in every life, with an archive and
// without.
func TestArchiveAttention(t *testing.T) {
	target := *synthtest.GPU
	target.MaxPush = 256
	target.Matrices = []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}, {Type: ops.F16, M: 16, N: 16, K: 16}}
	kept := &drawer{byKey: map[string][]byte{}}
	var first []string
	for life := range 3 {
		if target.Archive = kept; life == 0 {
			target.Archive = nil
		}
		forget()
		kept.puts = 0
		kernels, _, err := attention.Kernels(&target)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, k := range kernels {
			names = append(names, fmt.Sprint(k.Name, k.Spec, k.Buffers, k.PushBytes, k.Local, k.SubgroupSize, codegen.HashName(k.Code)))
		}
		if life == 0 {
			first = names
		}
		if !slices.Equal(names, first) || len(names) == 0 {
			t.Errorf("life %d: kernels are %v, want %v", life, names, first)
		}
		if (kept.puts > 0) != (life == 1) {
			t.Errorf("life %d: %d kernels go to the archive", life, kept.puts)
		}
	}
}
