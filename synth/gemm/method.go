package gemm

import "encoding/binary"

// method is a way to carry a product out.
type method interface {
	plan(p *Problem, t *Target) (*Plan, error)
}

// product makes the one or more dispatches of a kernel whose workgroups along
// z are batches, or batches for each share of k. params are those before and
// after the number of the first batch.
func (p *Problem) product(k Kernel, groups, z int, t *Target, before, after []int) []Step {
	var steps []Step
	limit := int(t.MaxGroups[2])
	for first := 0; first < z; first += limit {
		n := min(limit, z-first)
		g := fold(groups, t)
		steps = append(steps, Step{
			Kernel: k,
			In:     [2]Buffer{A, B},
			Out:    C,
			Push:   words(before, []int{first}, after),
			Grid:   [3]uint32{g[0], g[1], uint32(n)},
			Bytes:  p.bytes() * int64(n) / int64(z),
			Flops:  p.flops() * int64(n) / int64(z),
		})
	}
	return steps
}

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
	groups := ceil(count, plainThreads)
	g := fold(groups, t)
	bytes := int64(count) * int64(shares) * int64(p.Type.Size())
	steps = append(steps, Step{
		Kernel: Kernel{Shader: p.shader("gemm_chunks", t), Spec: []uint32{plainThreads},
			Local: [3]uint32{plainThreads, 1, 1}},
		In:    [2]Buffer{Partial, Partial},
		Out:   C,
		Push:  words([]int{count, shares, int(g[0])}),
		Grid:  g,
		Bytes: bytes,
		Flops: int64(count) * int64(shares),
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
