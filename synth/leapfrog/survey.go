package leapfrog

import (
	"cmp"
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// A density becomes stages with barriers between them. A stage computes values
// that lie in shared memory from then on: those that fold many elements, and
// those that are dear and wanted more than once. All others are computed where
// they are wanted.
//
// Folds over the same long axis make a sweep: an invocation takes an index of
// that axis and computes all that the folds want of it, once, in registers. So
// what belongs to one observation, its share of the density and of the gradient,
// never lies in memory.

// stage is what is computed between two barriers.
type stage struct {
	Alone  []*ops.Instr
	Sweeps []*sweep
}

// sweep is folds over an axis of n by one operation, which give outs elements.
type sweep struct {
	sweepKey
	folds []*ops.Instr
	Outs  int
}

// sweepKey is what folds of a sweep have in common.
type sweepKey struct {
	level, n int
	by       ops.Op
}

const (
	dearAgain = 6  // from which cost on a value is kept for those who want it again
	dearEarly = 20 // from which cost on a value is kept where others are computed meanwhile
	band      = 32 // invocations that are in step, about
	longFold  = 17 // from how many elements on a fold is not repeated by whoever wants it
	sweepFrom = 32 // the shortest axis of a sweep
	sweepMost = 24 // elements that an invocation folds at once
)

// survey is what decides about the values of a density.
type survey struct {
	*job
	body  []*ops.Instr // that somebody wants
	users map[ops.ID][]*ops.Instr
	keep  map[ops.ID]bool
	level map[ops.ID]int // the stage from which on a value is there; of a kept one, that which computes it
	due   map[ops.ID]int // the stage in which a value that is not kept is wanted first
	cost  map[ops.ID]int
	sinks map[ops.ID]map[sweepKey]bool // the sweeps that want a value that is not kept
}

// survey finds out what is computed when.
func (j *job) survey() error {
	r := j.straight
	for i, p := range r.Params {
		j.types[p.ID] = p.Type
		if i > 0 {
			j.data[p.ID] = leapfrogOperands + i - 1
		}
	}
	for i := range r.Body {
		in := &r.Body[i]
		if len(in.Outs) != 1 || len(in.Regions) > 0 {
			return lowering.Unsupported("%v in a leapfrog kernel", in.Op)
		}
		j.producer[in.Outs[0].ID], j.types[in.Outs[0].ID] = in, in.Outs[0].Type
	}
	s := &survey{job: j, users: map[ops.ID][]*ops.Instr{}, keep: map[ops.ID]bool{}}
	s.findWanted()
	moves := map[ops.ID]bool{r.Params[0].ID: true} // values that depend on the position
	for _, in := range s.body {
		if err := j.supported(in); err != nil {
			return err
		}
		if in.Op.Info().Kind == ops.Index && in.Ins[1].Lit == nil && moves[in.Ins[1].ID] {
			return lowering.Unsupported("indices that depend on the position in a leapfrog kernel, which cannot say that one is out of bounds")
		}
		moves[in.Outs[0].ID] = slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && moves[o.ID] })
		s.keep[in.Outs[0].ID] = j.long(in)
	}
	for more := true; more; {
		s.order()
		s.drain()
		more = s.keepMore()
	}
	s.lay()
	j.flops = j.work()
	return nil
}

// findWanted finds the instructions whose results somebody wants.
func (s *survey) findWanted() {
	for i := range slices.Backward(s.straight.Body) {
		in := &s.straight.Body[i]
		if id := in.Outs[0].ID; len(s.users[id]) == 0 && !s.given(id) {
			continue
		}
		s.body = append(s.body, in)
		for _, o := range in.Ins {
			if o.Lit == nil {
				s.users[o.ID] = append(s.users[o.ID], in)
			}
		}
	}
	slices.Reverse(s.body)
}

// order gives every value its level and its cost.
func (s *survey) order() {
	s.level, s.cost = map[ops.ID]int{}, map[ops.ID]int{}
	for _, in := range s.body {
		id := in.Outs[0].ID
		level, cost := 0, costs(in)
		for _, o := range in.Ins {
			level = max(level, s.level[o.ID])
			cost += s.cost[o.ID]
		}
		if takesMany(in) {
			cost *= s.foldSize(in) / max(1, in.Outs[0].Type.Size())
		}
		if s.keep[id] {
			level, cost = level+1, 1
		}
		s.level[id], s.cost[id] = level, min(cost, 1<<20)
	}
}

// elsewhere marks a reader of a value that is not a sweep.
var elsewhere = sweepKey{level: -1}

// drain finds the sweeps that want each value that is not kept, and when it is
// due.
func (s *survey) drain() {
	s.sinks, s.due = map[ops.ID]map[sweepKey]bool{}, map[ops.ID]int{}
	last := 0
	for _, level := range s.level {
		last = max(last, level)
	}
	for _, in := range slices.Backward(s.body) {
		id := in.Outs[0].ID
		to := map[sweepKey]bool{}
		due := last + 1
		if s.given(id) {
			to[elsewhere] = true
		}
		for _, u := range s.users[id] {
			out := u.Outs[0].ID
			if s.keep[out] {
				due = min(due, s.level[out])
			} else {
				due = min(due, s.due[out])
			}
			switch key, swept := s.sweptBy(u); {
			case swept:
				to[key] = true
			case s.keep[out]:
				to[elsewhere] = true
			default:
				for key := range s.sinks[out] {
					to[key] = true
				}
			}
		}
		s.sinks[id], s.due[id] = to, due
	}
}

// keepMore keeps a value that would be computed again, or can be computed beside
// others, and reports whether there is one. The cost of the others changes then.
func (s *survey) keepMore() bool {
	for _, in := range s.body {
		out := in.Outs[0]
		if s.keep[out.ID] || out.Type.DType != s.num || s.cost[out.ID] < dearAgain {
			continue
		}
		if s.times(out) > 1 && !s.private(out) || s.early(out) {
			s.keep[out.ID] = true
			return true
		}
	}
	return false
}

// early reports whether a few elements can be computed while others are, before
// they are due.
func (s *survey) early(out ops.Result) bool {
	return s.cost[out.ID] >= dearEarly && s.due[out.ID] > s.level[out.ID]+1 && out.Type.Size() <= band
}

// times is how often an element of a value is wanted, about.
func (s *survey) times(out ops.Result) int {
	n := 0
	if s.given(out.ID) {
		n++
	}
	for _, u := range s.users[out.ID] {
		size := u.Outs[0].Type.Size()
		if takesMany(u) {
			size = s.foldSize(u)
		}
		n += max(1, size/out.Type.Size())
	}
	return n
}

// private reports whether one sweep alone needs a value, and each index of its axis has a
// few elements of it.
func (s *survey) private(out ops.Result) bool {
	if len(s.sinks[out.ID]) != 1 {
		return false
	}
	for key := range s.sinks[out.ID] {
		if key == elsewhere || !slices.Contains(out.Type.Shape, key.n) || out.Type.Size()/key.n >= longFold {
			return false
		}
	}
	return true
}

// sweptBy is the sweep of a fold, if it takes part in one.
func (s *survey) sweptBy(in *ops.Instr) (key sweepKey, ok bool) {
	n, by := s.swept(in)
	return sweepKey{s.level[in.Outs[0].ID], n, by}, n > 0
}

// lay divides the kept values into stages and gives them places in shared memory.
func (s *survey) lay() {
	s.Size = 4 * s.dim // position, momentum, gradient, metric
	for _, in := range s.body {
		out := in.Outs[0]
		if !s.keep[out.ID] {
			continue
		}
		s.at[out.ID] = s.Size
		s.Size += out.Type.Size()
		level := s.level[out.ID]
		for len(s.Stages) < level {
			s.Stages = append(s.Stages, stage{})
		}
		stage := &s.Stages[level-1]
		if key, ok := s.sweptBy(in); ok {
			stage.sweep(key, in)
		} else {
			stage.Alone = append(stage.Alone, in)
		}
	}
}

// sweep puts a fold into a sweep that has room for it.
func (s *stage) sweep(key sweepKey, in *ops.Instr) {
	n := in.Outs[0].Type.Size()
	for _, w := range s.Sweeps {
		if w.sweepKey == key && w.Outs+n <= sweepMost {
			w.folds, w.Outs = append(w.folds, in), w.Outs+n
			return
		}
	}
	s.Sweeps = append(s.Sweeps, &sweep{key, []*ops.Instr{in}, n})
	slices.SortStableFunc(s.Sweeps, func(a, b *sweep) int { return cmp.Compare(b.n, a.n) })
}

// swept is the length of the axis by which a fold takes part in a sweep, and the
// operation that joins; 0 where it takes part in none.
func (j *job) swept(in *ops.Instr) (n int, by ops.Op) {
	if !takesMany(in) || in.Op == ops.IndexedAdd || in.Outs[0].Type.Size() > sweepMost {
		return 0, 0
	}
	axes := j.foldShape(in)
	for _, m := range axes {
		n = max(n, m)
	}
	if n < sweepFrom || axes.Size()/n >= longFold {
		return 0, 0
	}
	if in.Op == ops.Dot {
		return n, ops.Sum
	}
	return n, in.Op
}

// long reports whether a fold takes so many elements that it is not repeated.
func (j *job) long(in *ops.Instr) bool {
	return takesMany(in) && j.foldShape(in).Size() >= longFold
}

// foldShape is over what a fold goes for each element of its result.
func (j *job) foldShape(in *ops.Instr) (s ops.Shape) {
	t := j.typeOf(in.Ins[0])
	switch in.Op {
	case ops.IndexedAdd:
		index := j.typeOf(in.Ins[1]).Shape
		return ops.Shape{index[:len(index)-1].Size() + 1}
	case ops.Dot:
		for _, a := range in.Attrs[0] {
			s = append(s, t.Shape[a])
		}
		return s
	}
	for _, a := range slices.Sorted(slices.Values(in.Attrs[0])) {
		s = append(s, t.Shape[a])
	}
	return s
}

// foldSize is how many elements a fold takes in all.
func (j *job) foldSize(in *ops.Instr) int {
	return in.Outs[0].Type.Size() * j.foldShape(in).Size()
}

// given reports whether the density gives a value.
func (j *job) given(id ops.ID) bool {
	for _, o := range j.straight.Values {
		if o.Lit == nil && o.ID == id {
			return true
		}
	}
	return false
}
