package gemm

import (
	"slices"

	"nxvk/ops"
)

// Kernels lists every kernel that New can choose for products of a type on a device,
// as steps whose parameters are zero. There is a fixed number of them, since the
// sizes of a product are parameters: what a kernel is made for is a tile, how
// operands lie, and whether their rows begin at whole vectors.
func Kernels(d ops.DType, t *Target) []Step {
	p := &Problem{Type: d}
	list := []Step{empty(p.plainKernel("gemm_plain", t), plainParameters), empty(p.plainKernel("gemm_chunks", t), chunksParameters)}
	if t.CPU {
		list = append(list, p.blockKernels(t)...)
		for _, operands := range loaded[d] {
			list = append(list, (&Problem{Type: d, Operands: operands}).blockKernels(t)...)
		}
		return list
	}
	list = append(append(list, p.vectorKernels(t)...), p.slimKernels(t)...)
	if t.runsSmall() {
		list = append(list, p.smallKernels(t)...)
	}
	for _, operands := range loaded[d] {
		if t.Addresses {
			q := &Problem{Type: d, Operands: operands}
			list = append(list, q.vectorKernels(t)...)
			if operands.IsFloat() {
				list = append(list, q.slimKernels(t)...)
			}
		}
	}
	for _, c := range Tiles(d, false) {
		if !c.fits(p, t) {
			continue
		}
		for _, across := range pairs {
			for _, lies := range lays {
				if c.aligns(d, lies) {
					list = append(list, p.tiledSteps(tiled{Tile: c}, across, lies, tileParameters, t)...)
				}
			}
		}
	}
	return list
}

// How operands of tiles may lie: which are across, and which are aligned, as far as
// kernels differ.
var (
	pairs = [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}
	lays  = []uint32{alignedAll, alignedA | alignedB, alignedA | alignedC, alignedB | alignedC, alignedA, alignedB, alignedC, 0}
)

// loaded are the types of operands that kernels with sums of a type load as they are.
var loaded = map[ops.DType][]ops.DType{ops.F32: {ops.BF16, ops.F16}, ops.U32: {ops.S8, ops.U8}}

// How many parameters the kernels have.
const (
	plainParameters  = 13
	chunksParameters = 3
	vectorParameters = 14
	blockParameters  = 12
	tileParameters   = 11
)

func empty(k Kernel, parameters int) Step { return Step{Kernel: k, Push: make([]byte, 4*parameters)} }

// tiledSteps are the kernels of a tile, and those for matrices smaller than itself where it
// takes them.
func (p *Problem) tiledSteps(m tiled, across [2]int, lies uint32, parameters int, t *Target) []Step {
	list := []Step{empty(m.kernel(p, across, lies, false, t), parameters)}
	if m.clamps(p.Type) {
		list = append(list, empty(m.kernel(p, across, lies, true, t), parameters))
	}
	return list
}

func (p *Problem) blockKernels(t *Target) []Step {
	var list []Step
	if !t.blocks() {
		return nil
	}
	for rows := 1; rows <= blockRowsLarge; rows *= 2 {
		if rows > blockRows && p.Type.Size() != 4 {
			break
		}
		if p.Operands != ops.Invalid && rows > storedVectors {
			break
		}
		for _, across := range pairs {
			for lies := range uint32(8) {
				if p.Operands == ops.Invalid || lies&alignedB == 0 {
					list = append(list, empty(p.blockKernel(rows, across, lies, t), blockParameters))
				}
			}
		}
	}
	return list
}

// vectorKernels are those of products with few vectors.
func (p *Problem) vectorKernels(t *Target) []Step {
	var list []Step
	for n := 1; n <= maxVectors; n *= 2 {
		q := &Problem{Type: p.Type, Operands: p.Operands, N: n}
		for _, lies := range []uint32{alignedA | alignedB, alignedA, 0} {
			for _, team := range []int{narrowThreads, narrowTeam} {
				if t.CPU && team == narrowTeam {
					continue
				}
				list = append(list, empty(vectors{across: team}.kernel(q, lies, t), vectorParameters))
			}
		}
		for _, lies := range []uint32{alignedA, 0} {
			for _, m := range q.wideKernels(lies, t) {
				list = append(list, empty(m.kernel(q, lies, t), vectorParameters))
			}
		}
	}
	return list
}

// wideKernels lists the workgroups that the wide kernel may have: of any number of blocks of results, and of more
// invocations, for one vector and a matrix of whole blocks.
func (p *Problem) wideKernels(lies uint32, t *Target) []vectors {
	if p.slots(t) < 8 {
		return nil
	}
	usual := wideBlocks * p.slots(t)
	var list []vectors
	add := func(blocks, threads int) {
		list = append(list, vectors{wide: true, across: blocks, threads: threads})
	}
	add(wideBlocks, usual)
	if p.many(t) {
		add(mostBlocks, usual)
	}
	for blocks := leastBlocks; blocks <= singleBlocks && p.N == 1 && lies != 0; blocks *= 2 {
		single := !t.CPU && p.Type == ops.F32
		if blocks < wideBlocks || blocks > wideBlocks && single {
			add(blocks, usual)
		}
		if single && p.room(t) {
			add(blocks, singleThreads)
		}
	}
	return list
}

// GatherKernels lists every kernel that NewGather can choose, as Kernels does.
func GatherKernels(d ops.DType, t *Target) []Step {
	p := &Problem{Type: d}
	if t.CPU || !d.IsFloat() {
		return nil
	}
	var list []Step
	for _, c := range gatherTiles(d) {
		ruled := slices.ContainsFunc(rulesOf(d), func(r rule) bool { return r.tile == c })
		for axes := 2; axes <= maxAxes && c.fits(p, t); axes++ {
			if 4*gatherParameters(axes) > t.room() || !c.gathers(axes) && !ruled {
				break
			}
			for _, s := range gatherVariants {
				for _, across := range pairs[:3] {
					for _, lies := range lays {
						if across[1] == 0 && lies&alignedB != 0 {
							m := tiled{Tile: c, gather: s.example(axes)}
							list = append(list, p.tiledSteps(m, across, lies, gatherParameters(axes), t)...)
						}
					}
				}
			}
		}
	}
	return list
}

// gatherTiles are those that gather.
func gatherTiles(d ops.DType) []Tile {
	var list []Tile
	for _, r := range slices.Concat(gatherRules[d.Size()], rulesOf(d)) {
		if !slices.Contains(list, r.tile) {
			list = append(list, r.tile)
		}
	}
	return list
}

// example is a gather of this variant along some axes.
func (s gatherVariant) example(axes int) *Gather {
	g := &Gather{Axes: make([]Axis, axes)}
	for i := range g.Axes {
		g.Axes[i] = Axis{Taps: max(1, s.side), Gap: 1}
		if !s.masked && !s.gapped {
			g.Axes[i].Taps = maxMasked + 1
		}
		if s.gapped {
			g.Axes[i].Gap = 2
		}
	}
	return g
}
