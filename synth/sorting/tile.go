package sorting

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// digitJob sorts long rows on GPUs by the digits of their keys, least significant
// first. A row is cut into tiles, each the work of a workgroup. A pass is three
// kernels:
//
//	count  how often each digit is in each tile
//	sum    for each digit, its elements in the tiles before; and its elements
//	move   a tile is put in order in shared memory, then every run of one digit
//	       goes to its place as a whole
//
// Elements of one digit keep their order, so after the last pass all is in order.
// Elements travel as they are stored, so no key has to be turned back, and
// positions travel only where indices are asked for.
type digitJob struct {
	*sortJob
	shape tileShape
	tiles int // of a row
	pass  int
	last  bool

	temps     *[]int64
	moved     [2]int // temporaries of elements before and after a pass
	positions [2]int // and of their positions in the row
	counted   int    // of counts, by row, digit and tile
	totals    int    // of counts, by row and digit
}

// tileDigit is the bits of a digit.
const tileDigit = 8

// tileShape is how a tile is dealt out to a workgroup.
type tileShape struct {
	subgroup, subgroups int
	items               int // elements of an invocation
}

func (s tileShape) local() int { return s.subgroup * s.subgroups }

func (s tileShape) size() int { return s.local() * s.items }

// digits is how many digits an invocation looks after.
func (s tileShape) digits() int { return 1 << tileDigit / s.local() }

// tileItems are the words that an invocation has of a tile. Twice as many would
// leave room for one workgroup only where an SM has 48 KiB of shared memory.
const tileItems = 16

// tileShapeOf is the tile of elements of so many words, or false where the device
// has no tiles.
func tileShapeOf(t *lowering.Target, words int) (tileShape, bool) {
	size := t.FixedSubgroup()
	if size == 0 {
		return tileShape{}, false
	}
	s := tileShape{subgroup: size, subgroups: min(8, 256/size), items: tileItems / words}
	bytes := 4*max(s.size()*words, s.subgroups<<tileDigit) + 4<<tileDigit + 8*s.subgroups
	return s, bytes <= t.SharedMemory && s.local() <= t.MaxInvocations
}

// words is how many words an element takes in shared memory.
func (j *sortJob) words() int { return kernel.TypeSize(j.keyType()) / 4 }

func newDigitJob(s *sortJob, shape tileShape, temps *[]int64) *digitJob {
	return &digitJob{sortJob: s, shape: shape, temps: temps, tiles: (s.length + shape.size() - 1) / shape.size()}
}

func (j *digitJob) programs(t *lowering.Target) []*codegen.Program {
	passes := (j.keyBits() + tileDigit - 1) / tileDigit
	counters := strided.Product(j.rows) << tileDigit
	j.counted = j.temp(4 * counters * j.tiles)
	j.totals = j.temp(4 * counters)
	for i := range min(2, passes-1) {
		j.moved[i] = j.temp(j.elements() * kernel.TypeSize(j.keyType()))
		if j.indices != nil {
			j.positions[i] = j.temp(4 * j.elements())
		}
	}
	var programs []*codegen.Program
	for pass := range passes {
		p := *j
		p.pass, p.last = pass, pass == passes-1
		programs = append(programs, p.count(), p.sum(t), p.move())
	}
	return programs
}

// temp adds a temporary.
func (j *digitJob) temp(bytes int) int {
	*j.temps = append(*j.temps, int64(bytes))
	return len(*j.temps) - 1
}

func (j *digitJob) temporary(i int, elem kernel.Elem, access lowering.Access) codegen.Buffer {
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: i}, Elem: elem, Access: access, Bytes: (*j.temps)[i]}
}

// between is how elements lie in temporaries.
func (j *sortJob) between() kernel.Elem {
	if j.keyType() == scalar.U64 {
		return kernel.U64
	}
	return kernel.U32
}

// source are the elements before the pass.
func (j *digitJob) source() codegen.Buffer {
	if j.pass == 0 {
		return j.operand()
	}
	return j.temporary(j.moved[(j.pass+1)%2], j.between(), lowering.Read)
}

// finish completes a program that has a workgroup for each tile.
func (j *digitJob) finish(p *codegen.Program, what string) *codegen.Program {
	p.Local, p.Index, p.Flops = uint32(j.shape.local()), scalar.U32, int64(j.elements())
	p.Groups = strided.Product(j.rows) * j.tiles
	p.Numbers = append([]int{p.Groups, j.tiles, j.pass * tileDigit}, j.numbers()...)
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	p.Key = fmt.Sprintf("sort tiles %s %+v %s first=%v last=%v", what, j.shape, j.describe(), j.pass == 0, j.last)
	return p
}

// count is the program that counts the digits of every tile.
func (j *digitJob) count() *codegen.Program {
	p := &codegen.Program{Buffers: []codegen.Buffer{j.source(), j.temporary(j.counted, kernel.U32, lowering.Write)},
		Body: func(e *codegen.Emitter) error { newPassWriter(j, e, false).count(); return nil }}
	return j.finish(p, "count")
}

// move is the program that puts every element in its place.
func (j *digitJob) move() *codegen.Program {
	w := tileBuffers{counted: 1, totals: 2, positions: 3, out: 3}
	p := &codegen.Program{Buffers: []codegen.Buffer{j.source(), j.temporary(j.counted, kernel.U32, lowering.Read), j.temporary(j.totals, kernel.U32, lowering.Read)},
		Body: func(e *codegen.Emitter) error { newPassWriter(j, e, true).move(w); return nil }}
	if j.indices != nil && j.pass > 0 {
		p.Buffers = append(p.Buffers, j.temporary(j.positions[(j.pass+1)%2], kernel.U32, lowering.Read))
		w.out++
	}
	if j.last {
		p.Buffers = append(p.Buffers, j.results()...)
		return j.finish(p, "move")
	}
	p.Buffers = append(p.Buffers, j.temporary(j.moved[j.pass%2], j.between(), lowering.Write))
	if j.indices != nil {
		p.Buffers = append(p.Buffers, j.temporary(j.positions[j.pass%2], kernel.U32, lowering.Write))
	}
	return j.finish(p, "move")
}

// tileBuffers are the numbers of the buffers of a move after the source.
type tileBuffers struct{ counted, totals, positions, out int }
