package schedule

import "nxvk/ops"

const (
	// Lag is how many steps a phase of a chunk comes after the one before.
	Lag = 2
	// slots is how many chunks the shared memory holds: one is written Lag steps before it is read, and is
	// written again when all ranks have read it, Lag steps later.
	slots = 2 * Lag
	// align is the alignment of parts and chunks, which suits the kernels and bindings of all devices.
	align = 256
	// leastChunk and mostChunk bound the bytes of a rank's operand that a step moves, where there are so many. A
	// small operand has few chunks, since each step costs some microseconds beside its bytes. The shared memory is 4 times
	// as large for each rank and once more; more than three ranks have chunks of half the size.
	leastChunk, mostChunk = 512 << 10, 8 << 20
	few                   = 3
	// chunks is how many there are between these bounds.
	chunks = 8
)

// Memory is a place of bytes.
type Memory uint8

// The memories of a rank.
const (
	Operand Memory = iota // of this rank
	Result                // of this rank
	Shared                // by all ranks
)

// Ref names bytes of a memory.
type Ref struct {
	In     Memory
	Offset int
}

// Command is a part of a step. It combines the bytes of From, in this order, or copies them where there is one, to
// all of To.
type Command struct {
	From, To []Ref
	Bytes    int
}

// Crosses counts the bytes that cross the bus of the device.
func (c *Command) Crosses() (n int) {
	for _, list := range [][]Ref{c.From, c.To} {
		for _, r := range list {
			if r.In == Shared {
				n += c.Bytes
			}
		}
	}
	return n
}

// Way is how an all_reduce uses the bus.
type Way uint8

// The ways of an all_reduce.
const (
	// Divided has each rank combine one part of the operands, which the others take from it: Rabenseifner's algorithm.
	Divided Way = iota
	// Direct has each rank combine all of the operands, which its kernel reads over the bus. Two ranks move as many bytes
	// as Divided does, in two phases in place of three.
	Direct
	// Swapped has each of two ranks copy the operand of the other one into its result, and combine it there.
	Swapped
)

// Options choose between schedules that do the same.
type Options struct {
	Way   Way // of an all_reduce
	Chunk int // bytes of an operand that a step moves; 0 picks them by the size of the operand
}

// directBytes is how many bytes of operands a rank reads over the bus at most where that has fewer steps: a step takes some
// ten microseconds beside its bytes.
const directBytes = 1 << 20

// Best returns the options that suit a collective on operands of so many bytes. alike says that all ranks have the same
// kind of device: then each may combine for itself, since all get the same bits.
func Best(op ops.Op, ranks, bytes int, alike bool) Options {
	switch {
	case op != ops.AllReduce || !alike:
		return Options{}
	case (ranks-1)*bytes <= directBytes:
		return Options{Way: Direct, Chunk: bytes}
	case ranks == 2:
		return Options{Way: Swapped}
	}
	return Options{}
}

// Kept is the copy by which the rank at a place of the group has in its result what it keeps of its operand; it reports false where
// there is none. No step does that: a kernel copies within the memory of a device many times as fast as a queue for copies.
func Kept(op ops.Op, ranks, at, bytes int) (c Command, ok bool) {
	part := bytes / ranks
	switch {
	case bytes == 0:
	case op == ops.AllGather:
		return Command{From: []Ref{{Operand, 0}}, To: []Ref{{Result, at * bytes}}, Bytes: bytes}, true
	case op == ops.CollectiveBroadcast && at == 0:
		return Command{From: []Ref{{Operand, 0}}, To: []Ref{{Result, 0}}, Bytes: bytes}, true
	case op == ops.AllToAll && part > 0:
		return Command{From: []Ref{{Operand, at * part}}, To: []Ref{{Result, at * part}}, Bytes: part}, true
	}
	return Command{}, false
}

// Schedule is a collective of a group.
type Schedule struct {
	op     ops.Op
	way    Way
	ranks  int
	bytes  int // of an operand
	part   int // bytes from the beginning of one part to the next; all of the operand where it is not divided
	chunk  int // bytes of each part that a step moves
	chunks int
	phases []phase
}

// phase lists the commands of the rank at a place of the group for the chunk of all parts at an offset.
type phase func(s *Schedule, at, slot, off int) []Command

// New returns the schedule of a collective on operands of so many bytes each. It reports false where parts begin
// where kernels cannot.
func New(op ops.Op, ranks, bytes int, o Options) (*Schedule, bool) {
	s := &Schedule{op: op, way: o.Way, ranks: ranks, bytes: bytes, part: bytes / ranks}
	share := ranks // of a step that a chunk of a part is
	switch op {
	case ops.AllReduce:
		if o.Way != Divided {
			s.part, share = bytes, 1
			s.phases = []phase{(*Schedule).show, (*Schedule).combineAll}
			if o.Way == Swapped {
				s.phases = []phase{(*Schedule).show, (*Schedule).fetch, (*Schedule).combineOwn}
			}
			break
		}
		s.part = roundUp((bytes + ranks - 1) / ranks)
		s.phases = []phase{(*Schedule).scatter, (*Schedule).combine, (*Schedule).gather}
	case ops.ReduceScatter:
		s.phases = []phase{(*Schedule).scatter, (*Schedule).combine}
		if s.part%align != 0 {
			return nil, false
		}
	case ops.AllToAll:
		s.phases = []phase{(*Schedule).scatter, (*Schedule).collect}
	case ops.AllGather:
		s.part, share = bytes, 1
		s.phases = []phase{(*Schedule).publish, (*Schedule).gather}
	case ops.CollectiveBroadcast:
		s.part, share = bytes, 1
		s.phases = []phase{(*Schedule).announce, (*Schedule).take}
	}
	if ranks < 2 || s.part == 0 || o.Way == Swapped && ranks != 2 {
		return nil, false
	}
	chunk := o.Chunk
	if most := mostChunk; chunk == 0 {
		if ranks > few {
			most /= 2
		}
		chunk = min(max(bytes/chunks, leastChunk), most)
	}
	s.chunk = min(roundUp(chunk/share), roundUp(s.part))
	s.chunks = (s.part + s.chunk - 1) / s.chunk
	return s, true
}

func roundUp(n int) int { return (n + align - 1) / align * align }

// Ranks counts the ranks of the group.
func (s *Schedule) Ranks() int { return s.ranks }

// Steps counts the steps.
func (s *Schedule) Steps() int { return s.chunks + Lag*(len(s.phases)-1) }

// SharedBytes is how much memory the ranks share.
func (s *Schedule) SharedBytes() int { return slots * s.slotBytes() }

// A slot has a chunk of each part of each rank, and behind them one of each part that is combined. Where nothing is
// divided, it has a chunk of each rank.
func (s *Schedule) slotBytes() int {
	if s.way != Divided {
		return s.ranks * s.chunk
	}
	return (s.ranks + 1) * s.ranks * s.chunk
}

// given is where rank `from` shares its chunk of a part.
func (s *Schedule) given(slot, from, part int) Ref {
	return Ref{Shared, slot*s.slotBytes() + (from*s.ranks+part)*s.chunk}
}

// whole is where the chunk of a part is that all ranks take.
func (s *Schedule) whole(slot, part int) Ref { return s.given(slot, s.ranks, part) }

// Commands lists what the rank at a place of the group does in a step. What is read over the bus comes first,
// since it takes longest to arrive.
func (s *Schedule) Commands(step, at int) (list []Command) {
	for p := len(s.phases) - 1; p >= 0; p-- {
		if k := step - Lag*p; k >= 0 && k < s.chunks {
			list = append(list, s.phases[p](s, at, k%slots, k*s.chunk)...)
		}
	}
	return list
}

// length is how much a part has at an offset.
func (s *Schedule) length(part, off int) int {
	end := s.part
	if s.op == ops.AllReduce && s.way == Divided {
		end = min(end, s.bytes-part*s.part) // the last ones are shorter, perhaps empty
	}
	return max(0, min(s.chunk, end-off))
}

// Combined lists the different numbers of bytes that a rank combines at once.
func (s *Schedule) Combined(at int) (list []int) {
	if s.op != ops.AllReduce && s.op != ops.ReduceScatter {
		return nil
	}
	for k := range s.chunks {
		if n := s.length(s.own(at), k*s.chunk); n > 0 && (len(list) == 0 || list[len(list)-1] != n) {
			list = append(list, n)
		}
	}
	return list
}

// own is the part that a rank combines.
func (s *Schedule) own(at int) int {
	if s.way != Divided {
		return 0
	}
	return at
}

// Results is to how many places a combination goes.
func (s *Schedule) Results() int {
	if s.op == ops.AllReduce && s.way == Divided {
		return 2
	}
	return 1
}

// copyTo adds a copy, unless it is of nothing.
func copyTo(list []Command, n int, from Ref, to ...Ref) []Command {
	if n == 0 {
		return list
	}
	return append(list, Command{From: []Ref{from}, To: to, Bytes: n})
}

// scatter shares the parts of the other ranks.
func (s *Schedule) scatter(at, slot, off int) (list []Command) {
	for j := range s.ranks {
		if j != at {
			list = copyTo(list, s.length(j, off), Ref{Operand, j*s.part + off}, s.given(slot, at, j))
		}
	}
	return list
}

// combine combines the part of this rank.
func (s *Schedule) combine(at, slot, off int) []Command {
	c := Command{Bytes: s.length(at, off), To: []Ref{{Result, off}}}
	if c.Bytes == 0 {
		return nil
	}
	if s.op == ops.AllReduce {
		c.To = []Ref{{Result, at*s.part + off}, s.whole(slot, at)}
	}
	for r := range s.ranks {
		from := s.given(slot, r, at)
		if r == at {
			from = Ref{Operand, at*s.part + off}
		}
		c.From = append(c.From, from)
	}
	return []Command{c}
}

// gather takes what the other ranks have.
func (s *Schedule) gather(at, slot, off int) (list []Command) {
	for j := range s.ranks {
		if j != at {
			list = copyTo(list, s.length(j, off), s.whole(slot, j), Ref{Result, j*s.part + off})
		}
	}
	return list
}

// publish shares what this rank has.
func (s *Schedule) publish(at, slot, off int) []Command {
	return copyTo(nil, s.length(at, off), Ref{Operand, off}, s.whole(slot, at))
}

// announce has the first rank share what it has.
func (s *Schedule) announce(at, slot, off int) []Command {
	if at > 0 {
		return nil
	}
	return copyTo(nil, s.length(0, off), Ref{Operand, off}, s.whole(slot, 0))
}

// take takes what the first rank has.
func (s *Schedule) take(at, slot, off int) []Command {
	if at == 0 {
		return nil
	}
	return copyTo(nil, s.length(0, off), s.whole(slot, 0), Ref{Result, off})
}

// collect takes what the other ranks have for this one.
func (s *Schedule) collect(at, slot, off int) (list []Command) {
	for j := range s.ranks {
		if j != at {
			list = copyTo(list, s.length(at, off), s.given(slot, j, at), Ref{Result, j*s.part + off})
		}
	}
	return list
}

// shown is where a rank shows a chunk of its operand.
func (s *Schedule) shown(slot, from int) Ref {
	return Ref{Shared, slot*s.slotBytes() + from*s.chunk}
}

// show shares what this rank has with all.
func (s *Schedule) show(at, slot, off int) []Command {
	return copyTo(nil, s.length(0, off), Ref{Operand, off}, s.shown(slot, at))
}

// combineAll combines the chunks of all ranks, each where it is.
func (s *Schedule) combineAll(at, slot, off int) []Command {
	c := Command{Bytes: s.length(0, off), To: []Ref{{Result, off}}}
	for r := range s.ranks {
		from := s.shown(slot, r)
		if r == at {
			from = Ref{Operand, off}
		}
		c.From = append(c.From, from)
	}
	return []Command{c}
}

// fetch takes the chunk of the other of two ranks to where the result will be.
func (s *Schedule) fetch(at, slot, off int) []Command {
	return copyTo(nil, s.length(0, off), s.shown(slot, 1-at), Ref{Result, off})
}

// combineOwn combines the chunks of two ranks that this one has.
func (s *Schedule) combineOwn(at, _, off int) []Command {
	c := Command{Bytes: s.length(0, off), To: []Ref{{Result, off}}, From: []Ref{{Operand, off}, {Result, off}}}
	if at == 1 {
		c.From[0], c.From[1] = c.From[1], c.From[0]
	}
	return []Command{c}
}
