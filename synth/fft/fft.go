package fft

import (
	"fmt"
	"math"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// fftJob transforms the lines of a tensor along one axis: Stockham's algorithm,
// one pass for every factor of the length. A pass of radix r takes r elements that
// lie an r-th of the line apart, multiplies each by its twiddle, transforms them
// and writes them a span apart. The span is the product of the radices before, so
// the last pass leaves the line in order (Stockham). A small radix is the work of
// one invocation, a large one, on GPUs, of a workgroup: see fftBlock. A length
// with a prime factor that is too large for a pass is a chirp.
//
// The inverse is the transform with real and imaginary parts exchanged before
// and after. Complex numbers lie in memory as two reals.
type fftJob struct {
	compute scalar.Type // of parts
	length  int         // of the transform; lines are cut or filled with zeros
	have    int         // elements of a line of the operand
	keep    int         // of a line of the result
	inverse bool
	reads   form    // the operand
	gives   form    // the result
	eps     float64 // parts up to it become 0
	chirp   chirp   // where it is a part of a transform of another length, whose lines are in global memory

	from, to         codegen.Buffer
	fromType, toType ops.DType
	rows             []int        // the other dimensions
	at, put          strided.View // of rows
	step, next       int          // of a line, in operand and result
}

// parts is how complex elements lie in memory.
var parts = map[ops.DType]kernel.Elem{ops.C64: kernel.F32, ops.C128: kernel.F64}

// elemOf is how elements of any type lie in memory.
func elemOf(d ops.DType) kernel.Elem {
	if e, ok := parts[d]; ok {
		return e
	}
	return lowering.ElemOf[d]
}

// Lower plans a transform along one axis.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	n := in.Attrs[0][0]
	out := in.Outs[0].Type
	j := &fftJob{length: n, keep: n, inverse: in.Op == ops.IFFT || in.Op == ops.IRFFT,
		eps: math.Float64frombits(uint64(in.Attrs[2][0])), from: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}}, to: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Result, Index: 0}}}
	switch in.Op {
	case ops.RFFT:
		j.keep = n/2 + 1
	case ops.IRFFT:
		j.reads = hermitian
	}
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("transform of a literal")
	}
	j.along(in.Attrs[1][0], types[0], out)
	j.halve(t, in.Op)
	var temps []int64
	programs, err := j.programs(t, &temps)
	if err != nil {
		return nil, err
	}
	return codegen.NewPlan(t, temps, programs...)
}

// Lower2 plans a transform along the second and then the first of two axes.
func Lower2(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	lengths, axes, out := in.Attrs[0], in.Attrs[1], in.Outs[0].Type
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("transform of a literal")
	}
	half := ops.Type{DType: out.DType, Shape: slices.Clone(types[0].Shape)}
	half.Shape[axes[1]] = lengths[1]
	temps := []int64{int64(half.Bytes())}
	var programs []*codegen.Program
	for i, hop := range []struct {
		axis     int
		from, to lowering.Ref
		src, dst ops.Type
	}{{1, lowering.Ref{Kind: lowering.Operand, Index: 0}, lowering.Ref{Kind: lowering.Temp, Index: 0}, types[0], half}, {0, lowering.Ref{Kind: lowering.Temp, Index: 0}, lowering.Ref{Kind: lowering.Result, Index: 0}, half, out}} {
		n := lengths[1-i]
		j := &fftJob{length: n, keep: n, inverse: in.Op == ops.IFFT2, eps: math.Float64frombits(uint64(in.Attrs[2][0])),
			from: codegen.Buffer{Ref: hop.from}, to: codegen.Buffer{Ref: hop.to}}
		j.along(axes[hop.axis], hop.src, hop.dst)
		ps, err := j.programs(t, &temps)
		if err != nil {
			return nil, err
		}
		programs = append(programs, ps...)
	}
	return codegen.NewPlan(t, temps, programs...)
}

// along says where the lines along an axis lie.
func (j *fftJob) along(axis int, src, dst ops.Type) {
	j.fromType, j.toType = src.DType, dst.DType
	j.from.Elem, j.to.Elem = elemOf(src.DType), elemOf(dst.DType)
	j.from.Bytes, j.to.Bytes = int64(src.Bytes()), int64(dst.Bytes())
	j.compute = scalar.F32
	if dst.DType == ops.C128 || dst.DType == ops.F64 {
		j.compute = scalar.F64
	}
	from, to := src.Shape.Strides(), dst.Shape.Strides()
	j.have, j.step, j.next = src.Shape[axis], from[axis], to[axis]
	for i, d := range src.Shape {
		if i != axis {
			j.rows = append(j.rows, d)
			j.at.Strides, j.put.Strides = append(j.at.Strides, from[i]), append(j.put.Strides, to[i])
		}
	}
	j.rows = strided.Collapse(j.rows, []*strided.View{&j.at, &j.put})
}

// radices are the factors of the passes of a length. There are none where a prime
// factor is too large for a pass.
func radices(t *lowering.Target, n int) []int {
	var out []int
	candidates := []int{16, 8, 4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31}
	if t.CPU { // whose compilers take long for long kernels
		candidates = candidates[1:9]
	}
	for _, r := range candidates {
		for n%r == 0 {
			out, n = append(out, r), n/r
		}
	}
	if n > 1 {
		return nil
	}
	if len(out) == 0 {
		return []int{1}
	}
	return out
}

// programs plans the passes.
func (j *fftJob) programs(t *lowering.Target, temps *[]int64) ([]*codegen.Program, error) {
	lines := strided.Product(j.rows)
	if lines*max(j.length, j.have) >= 1<<30 || j.length >= 1<<28 {
		return nil, lowering.Unsupported("transform of 2^28 elements")
	}
	elem := kernel.F32
	if j.compute == scalar.F64 {
		elem = kernel.F64
	}
	passes := Passes(t, j.length, j.words(), j.aside())
	if passes == nil {
		return j.chirps(t, temps)
	}
	size := int64(2 * elem.Size() * lines * j.length)
	var between [2]codegen.Buffer
	for i := range min(2, len(passes)-1) {
		between[i] = codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps)}, Elem: elem, Bytes: size}
		*temps = append(*temps, size)
	}
	chirps, programs, err := j.columnChirps(passes, t, temps)
	if err != nil {
		return nil, err
	}
	span := 1
	for i, b := range passes {
		b = b.fit(lines*j.length, j.words(), len(passes) == 1 && !j.aside())
		w := &fftWriter{job: j, radix: b.elements(), block: b, first: i == 0, last: i == len(passes)-1, chirp: j.chirp}
		if b.Chirp > 0 {
			w.chirp = chirps[b.Chirp]
		}
		from, to := j.from, j.to
		if !w.first {
			from = between[(i+1)%2]
		}
		if !w.last {
			to = between[i%2]
		}
		from.Access, to.Access = lowering.Read, lowering.Write
		programs = append(programs, w.program(t, span, append([]codegen.Buffer{from, to}, w.buffers()...)))
		span *= w.radix
	}
	return programs, nil
}

// aside reports whether lines lie side by side, and are so many that neighbouring
// invocations take neighbouring lines.
func (j *fftJob) aside() bool { return j.step > 1 && strided.Product(j.rows) >= leastColumns }

// words is the size of a part of an element in words.
func (j *fftJob) words() int { return kernel.TypeSize(j.compute) / 4 }

// whole reports whether lines of the operand have all that is transformed.
func (j *fftJob) whole() bool {
	n := j.length
	if j.chirp.part == chirpIn {
		n = j.chirp.length
	}
	switch j.reads {
	case hermitian:
		n = n/2 + 1
	case paired:
		n *= 2
	case folded:
		n++
	}
	return j.have >= n
}

// program is one pass, after which elements of a line are in order within spans
// of span times the radix. Neighbouring invocations take neighbouring elements,
// of a line or of neighbouring lines.
func (w *fftWriter) program(t *lowering.Target, span int, bufs []codegen.Buffer) *codegen.Program {
	j := w.job
	lines := strided.Product(j.rows)
	apart := j.length / w.radix
	units := lines * apart
	w.columns = j.aside()
	w.binary = j.length&(j.length-1) == 0
	inner, along, across := apart, 1, j.length
	if w.columns {
		inner, along, across = lines, lines, 1
	}
	p := &codegen.Program{Local: codegen.GPULocal, Index: scalar.U32, Buffers: bufs, Body: w.write,
		Flops: int64(10 * units * w.block.radix()), Bytes: bufs[0].Bytes + bufs[1].Bytes,
		Numbers: []int{units, inner, apart, span, span * w.radix, j.length, along, across, j.have, j.keep, j.step, j.next, w.chirp.length}}
	if t.CPU {
		p.Local = codegen.CPULocal
	}
	p.Groups = (units + int(p.Local) - 1) / int(p.Local)
	if len(w.block.Stages) > 1 {
		w.wide = w.columns || apart > 1
		w.wideLast = w.columns || span >= w.block.Columns
		p.Local = uint32(w.block.Threads * w.block.Columns)
		p.Groups = (units + w.block.Columns - 1) / w.block.Columns
	}
	w.lines = !t.CPU && t.SharedMemory >= sharedBytes(BlockWords) && w.first && w.last && !w.columns && len(w.block.Stages) == 1 && w.radix >= leastLine
	if w.lines {
		p.Local = uint32(j.linesOf())
		p.Groups = (units + j.linesOf() - 1) / j.linesOf()
	}
	for i, d := range j.rows {
		p.Numbers = append(p.Numbers, d, j.at.Strides[i], j.put.Strides[i])
	}
	// The kernel of a convolution does not depend on the radix.
	block, radix := w.block, w.block.radix()
	block.Chirp = min(1, block.Chirp)
	p.Key = fmt.Sprintf("fft lines=%v radix=%d first=%v last=%v columns=%v inverse=%v form=%d %d eps=%x in %v of %v to %v rank=%d twiddle=%v chirp=%d %v %d binary=%v whole=%v all=%v %v block=%v wide=%v %v dense=%v %v vector=%v %v",
		w.lines, radix, w.first, w.last, w.columns, j.inverse, j.reads, j.gives, math.Float64bits(j.eps), j.compute, j.fromType, j.toType,
		len(j.rows), span > 1, w.chirp.part, w.chirp.inverse, chirpSize(w.chirp.length),
		w.binary, j.whole(), j.keep == j.length, j.keep == 2*j.length, block, w.wide, w.wideLast, j.step == 1, j.next == 1, j.vectorReads(), j.vectorWrites())
	w.twiddles = span > 1
	return p
}
