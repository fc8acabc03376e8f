package etf

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// header appends a tag and a count of 32 bits.
func (e *Encoder) header(tag byte, n int) error {
	if n > math.MaxUint32 {
		return ErrTooLarge
	}
	e.buf = binary.BigEndian.AppendUint32(append(e.buf, tag), uint32(n))
	return nil
}

func (e *Encoder) integer(n int64) {
	switch {
	case n >= 0 && n < 256:
		e.buf = append(e.buf, tagSmallInteger, byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, tagInteger), uint32(n))
	default:
		sign, u := byte(0), uint64(n)
		if n < 0 {
			sign, u = 1, -u
		}
		// The shortest form is what a BEAM sends, and equal terms then have
		// equal bytes.
		size := 8
		for u>>(8*(size-1)) == 0 {
			size--
		}
		e.buf = append(e.buf, tagSmallBig, byte(size), sign)
		for range size {
			e.buf = append(e.buf, byte(u))
			u >>= 8
		}
	}
}

func (e *Encoder) bigInt(z *big.Int) error {
	digits := z.Bytes()
	if len(digits) < 256 {
		e.buf = append(e.buf, tagSmallBig, byte(len(digits)))
	} else if err := e.header(tagLargeBig, len(digits)); err != nil {
		return err
	}
	sign := byte(0)
	if z.Sign() < 0 {
		sign = 1
	}
	e.buf = append(e.buf, sign)
	for i := len(digits) - 1; i >= 0; i-- {
		e.buf = append(e.buf, digits[i])
	}
	return nil
}

func (e *Encoder) float(f float64) error {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("float %v: %w", f, ErrType)
	}
	e.buf = binary.BigEndian.AppendUint64(append(e.buf, tagNewFloat), math.Float64bits(f))
	return nil
}

// binary appends p, or a cut. release is called in any case.
func (e *Encoder) binary(p []byte, release func()) error {
	cut := Cut{Bytes: p, Release: release}
	if err := e.header(tagBinary, len(p)); err != nil {
		cut.release()
		return err
	}
	if len(p) < SegmentSize {
		e.buf = append(e.buf, p...)
		cut.release()
		return nil
	}
	cut.At = len(e.buf)
	e.cuts = append(e.cuts, cut)
	e.bytes += len(p)
	return nil
}

func (e *Encoder) bitstring(b Bitstring) error {
	if len(b.Bytes) == 0 || b.Bits == 0 || b.Bits > 8 {
		return fmt.Errorf("bitstring of %d bytes and %d bits: %w", len(b.Bytes), b.Bits, ErrType)
	}
	if err := e.header(tagBitBinary, len(b.Bytes)); err != nil {
		return err
	}
	e.buf = append(append(e.buf, b.Bits), b.Bytes...)
	return nil
}

func (e *Encoder) atom(a Atom) error {
	if len(a) > maxAtom && utf8.RuneCountInString(string(a)) > maxAtom {
		return fmt.Errorf("atom of %d bytes: %w", len(a), ErrTooLarge)
	}
	if !utf8.ValidString(string(a)) {
		return fmt.Errorf("atom %q: %w", string(a), ErrType)
	}
	if len(a) < 256 {
		e.buf = append(e.buf, tagSmallAtomUTF8, byte(len(a)))
	} else {
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, tagAtomUTF8), uint16(len(a)))
	}
	e.buf = append(e.buf, a...)
	return nil
}

func (e *Encoder) pid(p Pid) error {
	e.buf = append(e.buf, tagNewPid)
	if err := e.atom(p.Node); err != nil {
		return err
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, p.ID)
	e.buf = binary.BigEndian.AppendUint32(e.buf, p.Serial)
	e.buf = binary.BigEndian.AppendUint32(e.buf, p.Creation)
	return nil
}

func (e *Encoder) ref(r Ref) error {
	if r.Len < 1 || r.Len > RefWords {
		return fmt.Errorf("reference of %d words: %w", r.Len, ErrType)
	}
	e.buf = append(e.buf, tagNewerReference, 0, r.Len)
	if err := e.atom(r.Node); err != nil {
		return err
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, r.Creation)
	for _, w := range r.Words[:r.Len] {
		e.buf = binary.BigEndian.AppendUint32(e.buf, w)
	}
	return nil
}

func (e *Encoder) port(p Port) error {
	e.buf = append(e.buf, tagV4Port)
	if err := e.atom(p.Node); err != nil {
		return err
	}
	e.buf = binary.BigEndian.AppendUint64(e.buf, p.ID)
	e.buf = binary.BigEndian.AppendUint32(e.buf, p.Creation)
	return nil
}
