package etf

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// leafCost returns the bytes of memory that a leaf takes whose encoding has n bytes after
// the tag. Containers are charged before they are made, and leaves after: a leaf is no
// longer than its encoding, except a string, which has 64 KiB at most. Small integers and
// atoms take nothing.
func leafCost(tag byte, n int) int {
	if tag == tagString {
		n *= termSize
	}
	return leafSize + n
}

// leaf decodes what is no container, atom or small integer.
func (d *Decoder) leaf(tag byte) (Term, error) {
	switch tag {
	case tagInteger:
		n, err := d.uint32()
		return int64(int32(n)), err
	case tagSmallBig:
		n, err := d.uint8()
		if err != nil {
			return nil, err
		}
		return d.big(n)
	case tagLargeBig:
		n, err := d.uint32()
		if err != nil {
			return nil, err
		}
		return d.big(n)
	case tagNewFloat, tagFloat:
		return d.float(tag)
	case tagBinary:
		return d.binary()
	case tagBitBinary:
		return d.bitstring()
	case tagString:
		return d.charlist()
	case tagPid, tagNewPid:
		return d.pid(tag)
	case tagPort, tagNewPort, tagV4Port:
		return d.port(tag)
	case tagReference, tagNewReference, tagNewerReference:
		return d.ref(tag)
	case tagExport:
		return d.export()
	case tagNewFun:
		return d.fun()
	}
	return nil, ErrTag
}

// take returns the next n bytes of the input, not a copy.
func (d *Decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.buf)-d.pos {
		return nil, ErrTruncated
	}
	p := d.buf[d.pos : d.pos+n]
	d.pos += n
	return p, nil
}

// uint8 and its like read a length, or a number, of so many bits.
func (d *Decoder) uint8() (int, error) {
	if d.pos >= len(d.buf) {
		return 0, ErrTruncated
	}
	d.pos++
	return int(d.buf[d.pos-1]), nil
}

func (d *Decoder) uint16() (int, error) {
	p, err := d.take(2)
	if err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint16(p)), nil
}

func (d *Decoder) uint32() (int, error) {
	p, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint32(p)), nil
}

// big decodes an integer of n bytes.
func (d *Decoder) big(n int) (Term, error) {
	p, err := d.take(n + 1)
	if err != nil {
		return nil, err
	}
	negative, digits := p[0] != 0, p[1:]
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	if len(digits) <= 8 {
		var raw [8]byte
		copy(raw[:], digits)
		u := binary.LittleEndian.Uint64(raw[:])
		if !negative && u <= math.MaxInt64 {
			return int64(u), nil
		}
		if negative && u <= 1<<63 {
			return -int64(u), nil
		}
	}
	reversed := make([]byte, len(digits))
	for i, b := range digits {
		reversed[len(digits)-1-i] = b
	}
	z := new(big.Int).SetBytes(reversed)
	if negative {
		z.Neg(z)
	}
	return z, nil
}

// float decodes the IEEE form and the text form of old nodes. Erlang has no
// infinities nor NaN, so neither is accepted.
func (d *Decoder) float(tag byte) (Term, error) {
	if tag == tagNewFloat {
		p, err := d.take(8)
		if err != nil {
			return nil, err
		}
		return finite(math.Float64frombits(binary.BigEndian.Uint64(p)))
	}
	p, err := d.take(31)
	if err != nil {
		return nil, err
	}
	f, err := strconv.ParseFloat(strings.TrimRight(string(p), "\x00"), 64)
	if err != nil {
		return nil, ErrMalformed
	}
	return finite(f)
}

func finite(f float64) (Term, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, ErrMalformed
	}
	return f, nil
}

func (d *Decoder) binary() (Term, error) {
	n, err := d.uint32()
	if err != nil {
		return nil, err
	}
	if d.Streamed && n >= LargeBinary {
		if len(d.Large) == 0 {
			return nil, ErrTruncated
		}
		t := d.Large[0]
		d.Large = d.Large[1:]
		return t, nil
	}
	p, err := d.take(n)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, n), p...), nil
}

func (d *Decoder) bitstring() (Term, error) {
	n, err := d.uint32()
	if err != nil {
		return nil, err
	}
	bits, err := d.uint8()
	if err != nil {
		return nil, err
	}
	if n == 0 || bits == 0 || bits > 8 {
		return nil, ErrMalformed
	}
	p, err := d.take(n)
	if err != nil {
		return nil, err
	}
	if bits == 8 {
		return append(make([]byte, 0, n), p...), nil
	}
	return Bitstring{Bytes: append(make([]byte, 0, n), p...), Bits: uint8(bits)}, nil
}

func (d *Decoder) charlist() (Term, error) {
	n, err := d.uint16()
	if err != nil {
		return nil, err
	}
	p, err := d.take(n)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return List(nil), nil
	}
	l := make(List, n)
	for i, b := range p {
		l[i] = int64(b)
	}
	return l, nil
}
