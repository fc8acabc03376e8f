package sorting

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// keyType is the type of keys in kernels.
func (j *sortJob) keyType() scalar.Type {
	if j.from.Bits() == 64 {
		return scalar.U64
	}
	return scalar.U32
}

// key gives the key of an element as it is stored. Smaller keys come first.
func (j *sortJob) key(e *codegen.Emitter, x kernel.Value) kernel.Value {
	width, t := j.from.Bits(), j.keyType()
	mask := ^uint64(0) >> (64 - width)
	x = e.Bitcast(x, t)
	switch j.from.Class() {
	case ops.Signed:
		x = e.And(e.Add(x, e.Const(t, 1<<(width-1))), mask)
	case ops.Float:
		x = j.floatKey(e, x, mask)
	}
	if j.descending {
		x = e.Prim(scalar.Xor, t, x, e.Const(t, mask))
	}
	return x
}

// floatKey orders the bits of floats: both zeros are equal, all NaNs are, and
// they come last. Comparing bits serves subnormals on every device.
func (j *sortJob) floatKey(e *codegen.Emitter, x kernel.Value, mask uint64) kernel.Value {
	t, sign := j.keyType(), mask/2+1
	mag := e.And(x, sign-1)
	negative := e.Compare(scalar.Ne, mag, x)
	below := e.Prim(scalar.Xor, t, x, e.Const(t, mask))
	key := e.Select(negative, below, e.Or(x, e.Const(t, sign)))
	key = e.Select(e.Compare(scalar.Eq, mag, e.Const(t, 0)), e.Const(t, sign), key)
	isNaN := e.Compare(scalar.Lt, e.Const(t, lastNumber(j.from)), mag)
	return e.Select(isNaN, e.Const(t, mask), key)
}

// lastNumber is the bits of the greatest value that is not a NaN.
func lastNumber(d ops.DType) uint64 {
	switch d {
	case ops.F32:
		return 0x7f800000
	case ops.F64:
		return 0x7ff << 52
	}
	f := codegen.Formats[d]
	if !f.Infinities {
		return 1<<(f.Bits-1) - 2
	}
	return (1<<(f.Bits-1-f.Mantissa) - 1) << f.Mantissa
}

// describe is what the keys and the results depend on.
func (j *sortJob) describe() string {
	text := fmt.Sprintf("of %v descending=%v rank=%d values=%v indices=%v as %v",
		j.from, j.descending, len(j.rows), j.values != nil, j.indices != nil, j.index)
	if j.bits > 0 {
		text += fmt.Sprintf(" bits=%d", j.bits)
	}
	if j.positions != nil {
		text += " with positions"
	}
	return text
}

// numbers are the parameters of a sortPlaces.
func (j *sortJob) numbers() []int {
	nums := []int{j.length, j.keep, j.step, j.next}
	for i, d := range j.rows {
		nums = append(nums, d, j.at.Strides[i], j.to.Strides[i])
	}
	return nums
}

// sortPlaces are the elements of operand and results in a kernel, where the
// operand is the first buffer.
type sortPlaces struct {
	*codegen.Emitter
	job                      *sortJob
	length, keep, step, next kernel.Value
	dims, at, to             []kernel.Value
}

func (j *sortJob) places(e *codegen.Emitter) *sortPlaces {
	p := &sortPlaces{Emitter: e, job: j, length: e.NextNumber(), keep: e.NextNumber(), step: e.NextNumber(), next: e.NextNumber()}
	for range j.rows {
		p.dims, p.at, p.to = append(p.dims, e.NextNumber()), append(p.at, e.NextNumber()), append(p.to, e.NextNumber())
	}
	return p
}

// row is where a row begins in the operand.
func (p *sortPlaces) row(r kernel.Value) kernel.Value { return p.Offsets(r, p.dims, p.at) }

// key gives the key of element i of the row that begins at base.
func (p *sortPlaces) key(base, i kernel.Value) kernel.Value {
	return p.job.key(p.Emitter, p.Fetch(0, p.Add(base, p.Mul(i, p.step)), 1)[0])
}

// put stores element i of row r as the one of the given rank, where the results
// have so many. The results begin with buffer first.
func (p *sortPlaces) put(first int, r, rank, i kernel.Value) {
	p.If(p.Compare(scalar.Lt, rank, p.keep), func() []kernel.Value {
		to := p.Add(p.Offsets(r, p.dims, p.to), p.Mul(rank, p.next))
		if p.job.values != nil {
			x := p.Fetch(0, p.Add(p.row(r), p.Mul(i, p.step)), 1)[0]
			p.Store(first, to, p.Bitcast(x, p.job.values.Elem.Type()))
			first++
		}
		if p.job.indices != nil {
			if p.job.positions != nil { // the last buffer
				i = p.Load(len(p.Buffers)-1, p.Add(p.Mul(r, p.length), i), 1)[0]
			}
			p.Store(first, to, p.Encode(p.job.index, p.Convert(i, codegen.WideType(p.job.index))))
		}
		return nil
	}, nil)
}
