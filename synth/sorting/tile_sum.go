package sorting

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// subgroupSums adds up numbers over the invocations of a workgroup.
type subgroupSums struct {
	*codegen.Emitter
	size, subgroups      int // of a subgroup; in a workgroup
	array                int // shared: sums of subgroups, two of each
	invocation, subgroup kernel.Value
}

func newSubgroupSums(e *codegen.Emitter, size, subgroups int) *subgroupSums {
	e.SetSubgroup(size)
	return &subgroupSums{Emitter: e, size: size, subgroups: subgroups, array: e.Shared(scalar.U32, 2*subgroups),
		invocation: e.Builtin(kernel.SubgroupInvocation), subgroup: e.Builtin(kernel.Subgroup)}
}

// before gives the sums of two numbers over the invocations before this one. A
// barrier must come before the next use.
func (s *subgroupSums) before(x, y kernel.Value) [2]kernel.Value {
	n := s.subgroups
	out := [2]kernel.Value{s.ExclusiveSum(x), s.ExclusiveSum(y)}
	s.If(s.Compare(scalar.Eq, s.invocation, s.Index(s.size-1)), func() []kernel.Value {
		s.StoreShared(s.array, s.subgroup, s.Add(out[0], x))
		s.StoreShared(s.array, s.Add(s.Index(n), s.subgroup), s.Add(out[1], y))
		return nil
	}, nil)
	s.Barrier()
	for i := range out {
		for k := range n {
			earlier := s.Compare(scalar.Lt, s.Index(k), s.subgroup)
			out[i] = s.Add(out[i], s.Select(earlier, s.LoadShared(s.array, s.Index(i*n+k)), s.Index(0)))
		}
	}
	return out
}

// all is the sum of the first numbers of the last before.
func (s *subgroupSums) all() kernel.Value {
	sum := s.Index(0)
	for k := range s.subgroups {
		sum = s.Add(sum, s.LoadShared(s.array, s.Index(k)))
	}
	return sum
}

// How counts are summed: by a workgroup for each digit of a row, whose invocations take
// tileCounts counts at a time; or by one invocation, where there are few tiles or many
// rows.
const (
	tileCounts = 4
	fewTiles   = 8
	manyRows   = 128
	mostTiles  = 64
)

// sum is the program that replaces the counts of each digit by the sums of those
// before, and finds the total of each digit.
func (j *digitJob) sum(t *lowering.Target) *codegen.Program {
	units := strided.Product(j.rows) << tileDigit
	p := &codegen.Program{Index: scalar.U32, Numbers: []int{units, j.tiles}, Flops: int64(units * j.tiles), Local: strided.GPUPart,
		Buffers: []codegen.Buffer{j.temporary(j.counted, kernel.U32, lowering.Read|lowering.Write), j.temporary(j.totals, kernel.U32, lowering.Write)},
		Key:     "sort tiles sum", Body: writeTileSum, Groups: (units + strided.GPUPart - 1) / strided.GPUPart}
	p.Bytes = 2 * p.Buffers[0].Bytes
	if j.tiles <= fewTiles || j.tiles <= mostTiles && strided.Product(j.rows) >= manyRows {
		return p
	}
	p.Local, p.Groups = uint32(j.shape.local()), units
	p.Key = fmt.Sprintf("sort tiles sum subgroup=%d", j.shape.subgroup)
	p.Body = func(e *codegen.Emitter) error {
		writeTileSums(newSubgroupSums(e, j.shape.subgroup, j.shape.subgroups))
		return nil
	}
	return p
}

func writeTileSum(e *codegen.Emitter) error {
	units, tiles := e.NextNumber(), e.NextNumber()
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		first := e.Mul(u, tiles)
		sum := e.Loop(first, e.Add(first, tiles), e.Index(1), []kernel.Value{e.Index(0)},
			func(i kernel.Value, sum []kernel.Value) []kernel.Value {
				n := e.Load(0, i, 1)[0]
				e.Store(0, i, sum[0])
				return []kernel.Value{e.Add(sum[0], n)}
			})
		e.Store(1, u, sum[0])
		return nil
	}, nil)
	return nil
}

func writeTileSums(s *subgroupSums) {
	units, tiles := s.NextNumber(), s.NextNumber()
	group := s.Group()
	active := s.Compare(scalar.Lt, group, units)
	first := s.Mul(s.Select(active, group, s.Index(0)), tiles)
	have := s.Select(active, tiles, s.Index(0)) // of a group beyond the last: nothing is stored
	sum := s.Loop(s.Index(0), tiles, s.Index(s.Local*tileCounts), []kernel.Value{s.Index(0)},
		func(i kernel.Value, carried []kernel.Value) []kernel.Value {
			own := s.Add(i, s.Mul(s.Invocation(), s.Index(tileCounts)))
			var counts [tileCounts]kernel.Value
			sum := s.Index(0)
			for k := range counts {
				at := s.Add(own, s.Index(k))
				inside := s.Compare(scalar.Lt, at, have)
				n := s.Load(0, s.Add(first, s.Select(inside, at, s.Index(0))), 1)[0]
				counts[k] = s.Select(inside, n, s.Index(0))
				sum = s.Add(sum, counts[k])
			}
			run := s.Add(carried[0], s.before(sum, s.Index(0))[0])
			for k, n := range counts {
				at := s.Add(own, s.Index(k))
				s.If(s.Compare(scalar.Lt, at, have), func() []kernel.Value {
					s.Store(0, s.Add(first, at), run)
					return nil
				}, nil)
				run = s.Add(run, n)
			}
			next := s.Add(carried[0], s.all())
			s.Barrier()
			return []kernel.Value{next}
		})
	leader := s.Compare(scalar.Eq, s.Invocation(), s.Index(0))
	s.If(s.Prim(scalar.AndB, scalar.Bool, leader, active), func() []kernel.Value {
		s.Store(1, group, sum[0])
		return nil
	}, nil)
}
