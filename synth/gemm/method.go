package gemm

import "encoding/binary"

// method is a way to carry a product out.
type method interface {
	plan(p *Problem, t *Target) (*Plan, error)
}

// dispatchFlops bounds the work of one dispatch, since drivers kill what runs
// for seconds: by the size of an element, for a device of some hundred GFLOP/s.
// Fast devices have enough groups in each part to stay busy.
func dispatchFlops(size int, t *Target) int {
	switch {
	case t.MaxFlops > 0:
		return t.MaxFlops
	case t.CPU:
		return 1 << 32
	case size == 8:
		return 1 << 36
	}
	return 1 << 38
}

// product makes the one or more dispatches of a kernel whose workgroups along
// z are batches, or batches for each share of k. A dispatch that is one of many
// fills whole waves, of so many workgroups. params are those before and after
// the numbers of the first batch and the first group.
func (p *Problem) product(k Kernel, groups, z, wave int, t *Target, before, after []int) []Step {
	return p.part(k, 0, groups, groups, z, wave, t, before, after)
}

// part makes the dispatches of product for the workgroups from begin up to end, of groups.
func (p *Problem) part(k Kernel, begin, end, groups, z, wave int, t *Target, before, after []int) []Step {
	per := max(1, int(p.flops())/groups/z)
	most := max(1, dispatchFlops(p.Type.Size(), t)/per)
	wide := end - begin
	if most < wide {
		if wide = most; most > wave {
			wide -= most % wave
		}
	}
	deep := min(z, int(t.MaxGroups[2]), max(1, most/(end-begin)))
	var steps []Step
	for first := 0; first < z; first += deep {
		for start := begin; start < end; start += wide {
			nz, ng := min(deep, z-first), min(wide, end-start)
			g := fold(ng, t)
			steps = append(steps, Step{
				Kernel: k,
				In:     [2]Buffer{A, B},
				Out:    C,
				Push:   words(before, []int{first, start}, after),
				Grid:   [3]uint32{g[0], g[1], uint32(nz)},
				Bytes:  p.bytes() * int64(nz) / int64(z) * int64(ng) / int64(groups),
				Flops:  int64(per) * int64(nz) * int64(ng),
			})
		}
	}
	return steps
}

// chunksEach is how many results an invocation of gemm_chunks has.
const chunksEach = 4

// shared completes a plan whose k is shared out: steps write to Partial, and
// the shares are added up at the end.
func (p *Problem) shared(steps []Step, shares int, t *Target) (*Plan, error) {
	if shares == 1 {
		return &Plan{Steps: steps}, nil
	}
	for i := range steps {
		steps[i].Out = Partial
	}
	count := p.Batch * p.M * p.N
	g := fold(ceil(count, chunksEach*plainThreads), t)
	bytes := int64(count) * int64(shares) * int64(p.Type.Size())
	steps = append(steps, Step{
		Kernel: p.plainKernel("gemm_chunks", t),
		In:     [2]Buffer{Partial, Partial},
		Out:    C,
		Push:   words([]int{count, shares, int(g[0])}),
		Grid:   g,
		Bytes:  bytes,
		Flops:  int64(count) * int64(shares),
	})
	return &Plan{Steps: steps, Partial: bytes}, nil
}

// fold lays workgroups out in lines as long as the device allows.
func fold(groups int, t *Target) [3]uint32 {
	x := min(groups, int(t.MaxGroups[0]))
	return [3]uint32{uint32(x), uint32(ceil(groups, x)), 1}
}

func words(lists ...[]int) []byte {
	var b []byte
	for _, l := range lists {
		for _, v := range l {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	return b
}

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }

func bit(set bool, b uint32) uint32 {
	if set {
		return b
	}
	return 0
}
