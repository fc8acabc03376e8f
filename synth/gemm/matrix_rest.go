package gemm

import (
	"slices"

	"nxvk/ops"
)

// Rest are the last tiles of a product on matrix hardware, those that fill no whole wave of workgroups. Their k is
// shared among as many workgroups as fill one, which add less than a wave to the time of the others (stream-K of
// Osama et al. 2023, with data-parallel waves). The shares are added up by a kernel of its own; no other tile takes
// part in that. The zero value is for tiles that are all alike.
type Rest struct {
	Tiles  int
	Shares int // of their k
}

// mostWaves is how many waves a product has at most whose rest is shared: of more, the last one is little.
const mostWaves = 16

// restThreads are the invocations of a workgroup that adds up shares.
const restThreads = 256

// planRest plans the whole waves of tiles, the shares of the rest, and their sums. The first two write to different
// buffers, so a device begins one while it ends the other. parts is the kernel that writes shares.
func (m *matrixMethod) planRest(p *Problem, whole, parts Kernel, before, after []int, t *Target) *Plan {
	groups := m.tiles(p) * p.Batch
	first := groups - m.rest.Tiles
	chunk, shares := m.chunks(p, m.rest.Shares)
	all, _ := m.chunks(p, 1)
	steps := p.part(whole, 0, first, groups, 1, Multiprocessors, t, before, slices.Concat([]int{all, 0, 0}, after))
	list := p.part(parts, first, groups, groups, shares, Multiprocessors, t, before, slices.Concat([]int{chunk, first, m.rest.Tiles}, after))
	for i := range list {
		list[i].Out = Partial
	}
	count := m.rest.Tiles * m.m() * m.n()
	bytes := int64(count) * int64(shares) * int64(p.Type.Size())
	g := fold(ceil(count, 16/p.Type.Size()*restThreads), t)
	sum := Step{Kernel: p.restKernel(p.N%4 == 0, t), In: [2]Buffer{Partial, Partial}, Out: C, Grid: g, Bytes: bytes, Flops: int64(count) * int64(shares),
		Push: words([]int{p.M, p.N, m.m(), m.n(), first, m.rest.Tiles, shares, int(g[0])})}
	return &Plan{Steps: append(append(steps, list...), sum), Partial: bytes, Row: p.N}
}

// restKernel adds up shares. aligned says that rows of results begin at whole vectors.
func (p *Problem) restKernel(aligned bool, t *Target) Kernel {
	return Kernel{Shader: p.shader("matrix_rest", t), Spec: []uint32{restThreads, bit(aligned, 1)}, Local: [3]uint32{restThreads, 1, 1}}
}

// restParameters is how many parameters the kernels have that add up shares.
const restParameters = 8

// restKernels lists them, as MatrixKernels does.
func restKernels(d ops.DType, t *Target) []Step {
	p := &Problem{Type: d}
	return []Step{empty(p.restKernel(true, t), restParameters), empty(p.restKernel(false, t), restParameters)}
}

// restsOf are among how many workgroups the k of the rest may be shared out, and how many tiles that is.
func (x *matrixModel) restsOf(m *matrixMethod, p *Problem, t *Target) (list []Rest) {
	groups, full := m.tiles(p)*p.Batch, Multiprocessors*x.per
	tiles := groups % full
	if m.places != nil || m.sliced() || groups < full || groups > mostWaves*full || tiles == 0 || groups > int(t.MaxGroups[0]) {
		return nil
	}
	for waves := 1; waves <= 2; waves++ {
		shares := min(waves*full/tiles, mostShares, p.K/leastShare)
		r := Rest{tiles, shares}
		if shares > 1 && tiles*shares*m.m()*m.n()*4 <= mostShared && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}
