package partition

import (
	"container/heap"
	"errors"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
)

// fuseSiblings merges clusters that read the same value and do not depend on each other
// (multi-output fusion), and small ones of the same size (horizontal fusion).
func (f *partitioner) fuseSiblings() {
	byRead := map[int][]*cluster{}
	var order []int
	for i := range f.nodes {
		g := f.nodes[i].cluster
		if g == nil || g.n == 0 || g.first != i {
			continue
		}
		for _, r := range f.nodesRead(g) {
			if byRead[r] == nil {
				order = append(order, r)
			}
			byRead[r] = append(byRead[r], g)
		}
	}
	for _, r := range order {
		for k, b := range byRead[r] {
			for _, a := range byRead[r][max(0, k-maxSiblings):k] {
				if len(a.items) > 0 && len(b.items) > 0 && a != b {
					f.join(a, b)
				}
			}
		}
	}
	f.fuseHorizontally()
}

// maxSiblings is how many clusters back to search for others that read the same value.
const maxSiblings = 8

// nodesRead lists the values with as many elements as the cluster that it reads.
func (f *partitioner) nodesRead(g *cluster) []int {
	var rs []int
	for _, s := range g.uses {
		if f.sizeOf(s.Of) == g.n {
			rs = append(rs, s.Of)
		}
	}
	slices.Sort(rs)
	return slices.Compact(rs)
}

// fusions makes the fusions, each after those that it depends on, in waves of independent
// ones.
func (f *partitioner) fusions() []fusion.Fusion {
	waits, next := map[*cluster]int{}, map[*cluster][]*cluster{}
	var ready clusterQueue
	for i := range f.nodes {
		g := f.nodes[i].cluster
		if g == nil || g.first != i {
			continue
		}
		before := f.before(g)
		waits[g] = len(before)
		for _, h := range before {
			next[h] = append(next[h], g)
		}
		if len(before) == 0 {
			heap.Push(&ready, g)
		}
	}
	var fusions []fusion.Fusion
	for len(ready) > 0 {
		wave := make([]*cluster, min(len(ready), maxWave))
		for i := range wave {
			wave[i] = heap.Pop(&ready).(*cluster)
			fusions = append(fusions, f.fusionsOf(wave[i])...)
		}
		for _, g := range wave {
			for _, h := range next[g] {
				if waits[h]--; waits[h] == 0 {
					heap.Push(&ready, h)
				}
			}
		}
	}
	return fusions
}

// maxWave is the most independent fusions side by side, which a device may overlap. More
// would keep more values alive at once.
const maxWave = 8

// before lists the clusters that g reads.
func (f *partitioner) before(g *cluster) []*cluster {
	f.stamp++
	var hs []*cluster
	for _, d := range g.deps {
		if h := f.nodes[d.node].cluster; h != g && h.stamp != f.stamp {
			h.stamp = f.stamp
			hs = append(hs, h)
		}
	}
	return hs
}

// fusionsOf makes a cluster a fusion. If no single iteration space can express how its items read each other, or what it reads
// in this space has too many addresses, each item becomes one.
func (f *partitioner) fusionsOf(g *cluster) []fusion.Fusion {
	u := f.newFusion(g.items)
	if len(g.items) == 1 {
		return []fusion.Fusion{u}
	}
	why := f.oneKernel(g, &u)
	if why == "" {
		return []fusion.Fusion{u}
	}
	var fusions []fusion.Fusion
	for _, i := range g.items {
		f.nodes[i].cluster, f.nodes[i].reason = &cluster{items: []int{i}, first: i, last: i}, why
	}
	for _, i := range g.items {
		fusions = append(fusions, f.newFusion([]int{i}))
	}
	return fusions
}

// oneKernel gives the reason why a fusion of a cluster is no single kernel; empty if it is. Items that read a value alike when
// each has its own iteration space may read it in several ways in the common one: each takes a buffer.
func (f *partitioner) oneKernel(g *cluster, u *fusion.Fusion) Reason {
	dag, err := fusion.NewDAG(u, func(id ops.ID) ops.Type { return f.types[id] })
	var at *fusion.ViewError
	switch {
	case errors.As(err, &at):
		return manySpaces
	case err != nil || g.product:
		return ""
	}
	buffers := len(u.Outs)
	for i := range dag.Sources {
		if k := dag.Sources[i].Kind; k == codegen.FromBuffer || k == codegen.FromCheck {
			buffers++
		}
	}
	return budgetFor(f.t, buffers, pushBytes(g.lits, nil))
}

// hasSpace reports whether one iteration space expresses a fusion.
func (f *partitioner) hasSpace(u *fusion.Fusion) bool {
	_, err := fusion.NewDAG(u, func(id ops.ID) ops.Type { return f.types[id] })
	var at *fusion.ViewError
	return !errors.As(err, &at)
}

// newFusion makes a fusion of items and of the instructions that they recompute, with the reasons of
// its borders where somebody asked for them.
func (f *partitioner) newFusion(items []int) fusion.Fusion {
	u := f.unexplained(items)
	if f.refused != nil {
		u.Why = f.why(items)
	}
	return u
}

// unexplained is newFusion without reasons.
func (f *partitioner) unexplained(items []int) fusion.Fusion {
	body := f.body(items)
	u := fusion.Fusion{Body: make([]ops.Instr, 0, len(body))}
	f.stamp++
	inside := func(o ops.Operand) bool {
		j, made := f.producer(o)
		_, found := slices.BinarySearch(body, j)
		return made && found
	}
	lits := map[string]*ops.Literal{}
	for _, i := range body {
		in := *f.nodes[i].in
		for k, o := range in.Ins {
			stored := k == fusion.UpdateOf && fusion.Updates(&in) // it is read from memory, also where the slice is computed of it
			if o.Lit == nil && (stored || !inside(o)) && f.listed[o.ID] != f.stamp {
				f.listed[o.ID] = f.stamp
				u.Ins = append(u.Ins, o.ID)
			}
		}
		addLiterals(&u, &in, lits)
		u.Body = append(u.Body, in)
	}
	for _, i := range items {
		if len(f.nodes[i].in.Outs) > 1 || f.isReadOutside(i, f.nodes[i].cluster) {
			u.Outs = append(u.Outs, f.nodes[i].in.Outs...)
		}
	}
	return u
}

// addLiterals adds the literals of an instruction. Equal scalars are one operand; those
// without data stand for any value.
func addLiterals(u *fusion.Fusion, in *ops.Instr, known map[string]*ops.Literal) {
	for i, o := range in.Ins {
		if o.Lit == nil {
			continue
		}
		if len(o.Lit.Type.Shape) > 0 {
			u.Lits = append(u.Lits, o.Lit)
			continue
		}
		if len(o.Lit.Data) == 0 {
			if !slices.Contains(u.Lits, o.Lit) {
				u.Lits = append(u.Lits, o.Lit)
			}
			continue
		}
		key := o.Lit.Type.DType.String() + string(o.Lit.Data)
		if known[key] == nil {
			known[key] = o.Lit
			u.Lits = append(u.Lits, o.Lit)
		}
		if known[key] != o.Lit {
			in.Ins = slices.Clone(in.Ins)
			in.Ins[i].Lit = known[key]
		}
	}
}

// body lists the items and the nodes that they compute as well, in order.
func (f *partitioner) body(items []int) []int {
	all := slices.Clone(items)
	for _, i := range items {
		all = append(all, f.nodes[i].body...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// clusterQueue orders clusters that are ready by their first instruction.
type clusterQueue []*cluster

func (q clusterQueue) Len() int           { return len(q) }
func (q clusterQueue) Less(i, j int) bool { return q[i].first < q[j].first }
func (q clusterQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push adds a cluster.
func (q *clusterQueue) Push(x any) { *q = append(*q, x.(*cluster)) }

// Pop removes the last cluster.
func (q *clusterQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
