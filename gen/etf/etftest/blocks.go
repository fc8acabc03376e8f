// Package etftest has what tests of several packages need of terms.
package etftest

import (
	"errors"
	"sync/atomic"

	"nxvk/gen/etf"
)

// ErrNoMemory is the error of Blocks for what is too large.
var ErrNoMemory = errors.New("no memory")

// Blocks is an etf.Allocator that counts the blocks that are not freed.
type Blocks struct {
	Max  int // the largest block, in bytes
	live atomic.Int32
}

// Live returns how many blocks are not freed.
func (b *Blocks) Live() int { return int(b.live.Load()) }

type block struct {
	of  *Blocks
	mem []byte
}

// Alloc returns a block of n bytes, or ErrNoMemory.
func (b *Blocks) Alloc(n int) (etf.Block, error) {
	if n > b.Max {
		return nil, ErrNoMemory
	}
	b.live.Add(1)
	return &block{of: b, mem: make([]byte, n)}, nil
}

func (b *block) Bytes() []byte { return b.mem }
func (b *block) Free()         { b.of.live.Add(-1) }

// Pattern returns n bytes that differ from place to place.
func Pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i * i >> 7)
	}
	return p
}

// Flat copies the large binaries of a term to the heap, and releases them.
func Flat(t etf.Term) etf.Term {
	switch t := t.(type) {
	case *etf.Binary:
		p := append([]byte(nil), t.Bytes()...)
		t.Release()
		return p
	case etf.Tuple:
		for i := range t {
			t[i] = Flat(t[i])
		}
	case etf.List:
		for i := range t {
			t[i] = Flat(t[i])
		}
	}
	return t
}
