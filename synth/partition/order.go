package partition

import (
	"cmp"
	"slices"
)

// Clusters have places: each comes after those that it reads. Two clusters can become one if no third one has to run
// between them, as it depends on the first and the second depends on it. Its place is then between theirs, so that a search
// looks at no other clusters. The clusters at these places then move before the joint one, or after it (Pearce and Kelly
// 2007, "A dynamic topological sort algorithm for directed acyclic graphs").
//
// The order of instructions is no such order. A cluster whose first instruction is early and whose last one is late depends
// on what was made in between, and so does whoever reads its first one.

// enter gives the cluster of node i, which nobody reads yet, the last place.
func (f *partitioner) enter(g *cluster, i int) {
	f.places++
	g.place = f.places
	for _, d := range g.deps {
		f.nodes[d.node].readBy = append(f.nodes[d.node].readBy, i)
	}
}

// between reports whether a third cluster has to run between two. If not, f.upstream has the clusters that the later one
// depends on and that come after the other one.
func (f *partitioner) between(a, b *cluster) bool {
	low, high := a, b
	if low.place > high.place {
		low, high = high, low
	}
	f.stamp++
	high.stamp = f.stamp
	list := append(f.search[:0], high)
	defer func() { f.search, f.upstream = list, list[1:] }()
	for k := 0; k < len(list) && k < maxVisits; k++ {
		for _, d := range list[k].deps {
			h := f.nodes[d.node].cluster
			if h == low && k > 0 {
				return true
			}
			if h.stamp != f.stamp && h.place > low.place {
				h.stamp = f.stamp
				list = append(list, h)
			}
		}
	}
	return len(list) > maxVisits
}

// maxVisits bounds the clusters that a search visits.
const maxVisits = 4096

// reorder gives cluster a the place that it has when it is one with b, and others their places before and after it. It
// follows a call of between.
func (f *partitioner) reorder(a, b *cluster) {
	low, high := a, b
	if low.place > high.place {
		low, high = high, low
	}
	before := f.upstream
	if len(before) == 0 {
		a.place = low.place
		return
	}
	after := f.downstream(low, high)
	places := []int{low.place, high.place}
	byPlace := func(x, y *cluster) int { return cmp.Compare(x.place, y.place) }
	for _, list := range [][]*cluster{before, after} {
		slices.SortFunc(list, byPlace)
		for _, g := range list {
			places = append(places, g.place)
		}
	}
	slices.Sort(places)
	for i, g := range before {
		g.place = places[i]
	}
	a.place = places[len(before)]
	for i, g := range after {
		g.place = places[len(before)+2+i]
	}
}

// downstream lists the clusters that depend on one and come before another.
func (f *partitioner) downstream(low, high *cluster) []*cluster {
	f.stamp++
	low.stamp = f.stamp
	list := append(f.readers[:0], low)
	for k := 0; k < len(list); k++ {
		for _, i := range list[k].items {
			for _, r := range f.nodes[i].readBy {
				if h := f.nodes[r].cluster; h.stamp != f.stamp && h.place < high.place {
					h.stamp = f.stamp
					list = append(list, h)
				}
			}
		}
	}
	f.readers = list
	return list[1:]
}

// reads reports whether cluster h reads a value of cluster a.
func (f *partitioner) reads(h, a *cluster) bool {
	return slices.ContainsFunc(h.deps, func(d dep) bool { return f.nodes[d.node].cluster == a })
}
