package attention

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/vulkan"
)

// partTiles are the tiles that BenchmarkParts measures.
var partTiles = []attention.MatrixTile{{FM: 2, Warps: 4, Keys: 64}, {FM: 1, Warps: 4, Keys: 64}, {FM: 1, Warps: 4, Keys: 32},
	{FM: 1, Warps: 8, Keys: 64}, {FM: 1, Warps: 4, Keys: 16}, {FM: 1, Warps: 8, Keys: 16}, {FM: 1, Warps: 8, Keys: 32}}

// partSizes are the attentions: heads and positions.
var partSizes = [][2]int{{1, 1024}, {2, 2048}, {9, 1024}, {12, 757}, {4, 3072}, {16, 1024}, {40, 327}, {8, 2200}, {48, 1024}}

// BenchmarkParts prints times of attentions of few tiles, in µs, by tile and parts of the keys: of all kernels one after the
// other, and of the first. Run it with -test.benchtime 1x. All kernels are compiled before one is measured, since a device
// that waits for a compiler lowers its clock.
func BenchmarkParts(b *testing.B) {
	d, t := open(b)
	defer d.Close()
	for _, size := range []int{32, 64, 96, 128, 192, 256} {
		for _, mask := range []string{"no mask", "causal", "biases"} {
			b.Run(fmt.Sprintf("%d/%s", size, mask), func(b *testing.B) {
				list := divide(b, d, t, size, mask)
				compileAll(d, list)
				for _, x := range list {
					for n := range x.plan.Steps {
						x.runs = append(x.runs, x.plan.compile(b, n))
					}
				}
				for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
					list[0].measure() // the device wakes up
				}
				for range 3 {
					for _, x := range list {
						x.measure()
					}
				}
				for _, x := range list {
					x.print()
				}
			})
		}
	}
}

// divided is an attention in a tile with its keys in so many parts, and the least time of each of its kernels in seconds.
type divided struct {
	name  string
	plan  *planned
	runs  []func(times int)
	times []float64
}

// divide are the attentions with rows of that size. Those of the same operands share their memory.
func divide(b *testing.B, d *vulkan.Device, t *lowering.Target, size int, mask string) (list []*divided) {
	defer func() { attention.Tile, attention.Shares = attention.MatrixTile{}, 0 }()
	for _, s := range partSizes {
		x := attention.NewExample(ops.F16, s[0], s[1], size, mask)
		first := len(list)
		for _, attention.Tile = range partTiles {
			for _, attention.Shares = range []int{1, 2, 3, 4, 8} {
				p, err := attention.Lower(x.Instr, x.Types, t)
				if err != nil || p.Steps[0].Kernel.Spec == nil || attention.Shares > 1 && len(p.Steps) == 1 {
					continue // the tile does not fit, or there are too few blocks
				}
				name := fmt.Sprintf("%d heads of %d, %d columns, %s, tile %d.%d.%d, %d parts", s[0], s[1], size, mask,
					attention.Tile.FM, attention.Tile.Warps, attention.Tile.Keys, attention.Shares)
				list = append(list, &divided{name: name, plan: &planned{Plan: p, device: d, in: x.Instr, types: x.Types, ran: map[int]bool{}}})
			}
		}
		shareBuffers(b, list[first:])
	}
	return list
}

// shareBuffers has attentions share the memory of the one that takes most.
func shareBuffers(b *testing.B, list []*divided) {
	if len(list) == 0 {
		return
	}
	most := slices.MaxFunc(list, func(x, y *divided) int {
		return cmp.Compare(sum(x.plan.Temps), sum(y.plan.Temps))
	}).plan
	owner := newPlanned(b, most.device, most.Plan, most.in, most.types)
	for _, s := range owner.Steps {
		for _, a := range s.Args {
			owner.buffer(b, a.Ref)
		}
	}
	for _, x := range list {
		x.plan.buffers = owner.buffers
	}
}

// compileAll compiles each kernel once, as many at a time as there are processors.
func compileAll(d *vulkan.Device, list []*divided) {
	kernels := map[string]*lowering.Kernel{}
	for _, x := range list {
		for _, s := range x.plan.Steps {
			kernels[fmt.Sprint(s.Kernel.Name, s.Kernel.Spec)] = s.Kernel
		}
	}
	slots := make(chan struct{}, runtime.NumCPU())
	var group sync.WaitGroup
	for _, k := range kernels {
		group.Go(func() {
			slots <- struct{}{}
			target.Compile(d, k) // whose error is reported by the next one to compile it
			<-slots
		})
	}
	group.Wait()
}

// measure has each step run, and keeps its least time.
func (x *divided) measure() {
	for n, run := range x.runs {
		run(1)
		start := time.Now()
		run(together)
		seconds := time.Since(start).Seconds() / together
		if n == len(x.times) {
			x.times = append(x.times, seconds)
		}
		x.times[n] = min(x.times[n], seconds)
	}
}

func (x *divided) print() {
	all := 0.0
	for _, s := range x.times {
		all += s
	}
	fmt.Fprintf(os.Stderr, "%s: %.1f %.1f\n", x.name, all*1e6, x.times[0]*1e6)
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}
