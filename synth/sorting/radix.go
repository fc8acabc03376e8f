package sorting

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// radixJob sorts long rows by the digits of their keys, least significant first.
// A row is cut into blocks, each the work of one invocation. A pass counts the
// elements of every digit in every block, sums the counts before each, digit
// after digit and within a digit block after block, and then moves every element
// to where its count says. Elements of one digit keep their order, so after the
// last pass all is in order. No invocation waits for another one.
type radixJob struct {
	*sortJob
	digit  int // bits of a digit
	blocks int // of a row
	size   int // elements of a block

	temps *[]int64
	pairs [2]int // temporaries of keys, each with positions after it
	count int    // temporary of counts
}

// How a row is cut. Counts of few values are more to a GPU, which has many
// blocks; a processor has few.
const (
	gpuDigit, gpuBlock = 4, 64
	cpuDigit, cpuBlock = 8, 1024
	cpuBlocks          = 128
)

func newRadixJob(s *sortJob, t *lowering.Target, temps *[]int64) *radixJob {
	j := &radixJob{sortJob: s, temps: temps, digit: gpuDigit, size: gpuBlock}
	if t.CPU {
		j.digit, j.size = cpuDigit, max(cpuBlock, (s.length+cpuBlocks-1)/cpuBlocks)
	}
	j.blocks = (s.length + j.size - 1) / j.size
	return j
}

// digits is how many values a digit has.
func (j *radixJob) digits() int { return 1 << j.digit }

func (j *radixJob) programs(t *lowering.Target) []*codegen.Program {
	rows := strided.Product(j.rows)
	counts := j.digits() * j.blocks
	j.count = j.temp(rows * counts * 4)
	passes := (j.keyBits() + j.digit - 1) / j.digit
	for i := range min(2, passes-1) {
		j.pairs[i] = j.temp(j.elements() * kernel.TypeSize(j.keyType()))
		j.temp(j.elements() * 4)
	}
	sums := newPrefixJob(rows, counts, j.count, t, j.temps)
	var programs []*codegen.Program
	for pass := range passes {
		programs = append(programs, j.program(pass, passes, false))
		programs = append(programs, sums...)
		programs = append(programs, j.program(pass, passes, true))
	}
	return programs
}

// temp adds a temporary.
func (j *radixJob) temp(bytes int) int {
	*j.temps = append(*j.temps, int64(bytes))
	return len(*j.temps) - 1
}

// counts is the temporary of counts.
func (j *radixJob) counts(access lowering.Access) codegen.Buffer {
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: j.count}, Elem: kernel.U32, Access: access,
		Bytes: int64(4 * strided.Product(j.rows) * j.digits() * j.blocks)}
}

// pair are temporaries of keys and positions.
func (j *radixJob) pair(i int, access lowering.Access) []codegen.Buffer {
	elem := kernel.U32
	if j.keyType() == scalar.U64 {
		elem = kernel.U64
	}
	n := int64(j.elements())
	return []codegen.Buffer{{Ref: lowering.Ref{Kind: lowering.Temp, Index: j.pairs[i]}, Elem: elem, Access: access, Bytes: n * int64(elem.Size())},
		{Ref: lowering.Ref{Kind: lowering.Temp, Index: j.pairs[i] + 1}, Elem: kernel.U32, Access: access, Bytes: 4 * n}}
}

// program counts the digits of a pass, or moves the elements by them.
func (j *radixJob) program(pass, passes int, move bool) *codegen.Program {
	w := &radixWriter{job: j, first: pass == 0, last: pass == passes-1, move: move}
	units := strided.Product(j.rows) * j.blocks
	p := &codegen.Program{Local: strided.GPUPart, Index: scalar.U32, Flops: int64(j.elements()), Body: w.write,
		Groups:  (units + strided.GPUPart - 1) / strided.GPUPart,
		Numbers: append([]int{units, j.blocks, j.size, pass * j.digit}, j.numbers()...)}
	if j.digit == cpuDigit {
		p.Local, p.Groups = 8, (units+7)/8
	}
	if w.first || w.last && move {
		p.Buffers = append(p.Buffers, j.operand())
	}
	w.keys = len(p.Buffers)
	if !w.first {
		p.Buffers = append(p.Buffers, j.pair((pass+1)%2, lowering.Read)...)
		if !move { // counting needs no positions
			p.Buffers = p.Buffers[:len(p.Buffers)-1]
		}
	}
	w.counts = len(p.Buffers)
	p.Buffers = append(p.Buffers, j.counts(lowering.Read|lowering.Write))
	w.out = len(p.Buffers)
	switch {
	case move && w.last:
		p.Buffers = append(p.Buffers, j.buffers()[1:]...)
	case move:
		p.Buffers = append(p.Buffers, j.pair(pass%2, lowering.Write)...)
	}
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	p.Key = fmt.Sprintf("sort by digits of %d %s first=%v last=%v move=%v", j.digit, j.describe(), w.first, w.last, move)
	return p
}

// radixWriter writes the kernels of one pass.
type radixWriter struct {
	*sortPlaces
	job               *radixJob
	first, last, move bool
	keys, counts, out int // buffers

	blocks, size, shift kernel.Value
}

func (w *radixWriter) write(e *codegen.Emitter) error {
	units, blocks, size, shift := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	own := *w // a program may be compiled more than once
	own.sortPlaces, own.blocks, own.size, own.shift = w.job.places(e), blocks, size, shift
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		r, block := e.DivMod(u, blocks)
		own.block(r, block)
		return nil
	}, nil)
	return nil
}

// block counts or moves the elements of one block.
func (w *radixWriter) block(r, block kernel.Value) {
	counts := w.Add(w.Mul(w.Mul(r, w.Index(w.job.digits())), w.blocks), block)
	counter := func(digit kernel.Value) kernel.Value { return w.Add(counts, w.Mul(digit, w.blocks)) }
	if !w.move {
		w.Loop(w.Index(0), w.Index(w.job.digits()), w.Index(1), nil, func(d kernel.Value, _ []kernel.Value) []kernel.Value {
			w.Store(w.counts, counter(d), w.Index(0))
			return nil
		})
	}
	base, start := w.row(r), w.Mul(r, w.length)
	from := w.Mul(block, w.size)
	end := w.Add(from, w.size)
	end = w.Select(w.Compare(scalar.Lt, end, w.length), end, w.length)
	w.Loop(from, end, w.Index(1), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		key := w.element(base, start, i)
		at := counter(w.digitOf(key))
		n := w.Load(w.counts, at, 1)[0]
		w.Store(w.counts, at, w.Add(n, w.Index(1)))
		if w.move {
			w.place(r, start, n, key, i)
		}
		return nil
	})
}

// element is the key of the element at position i before the pass.
func (w *radixWriter) element(base, start, i kernel.Value) kernel.Value {
	if w.first {
		return w.key(base, i)
	}
	return w.Load(w.keys, w.Add(start, i), 1)[0]
}

func (w *radixWriter) digitOf(key kernel.Value) kernel.Value {
	d := w.Prim(scalar.Shr, w.Type(key), key, w.shift)
	return w.And(w.Convert(d, scalar.U32), uint64(w.job.digits()-1))
}

// place puts what was at position i at position n.
func (w *radixWriter) place(r, start, n, key, i kernel.Value) {
	position := i
	if !w.first {
		position = w.Load(w.keys+1, w.Add(start, i), 1)[0]
	}
	if w.last {
		w.put(w.out, r, n, position)
		return
	}
	w.Store(w.out, w.Add(start, n), key)
	w.Store(w.out+1, w.Add(start, n), position)
}
