package etf

import "testing"

// Fresh memory is written for the first time, which is when the kernel finds
// pages for it.
func BenchmarkFreshBlock(b *testing.B) {
	const n = 8 << 20
	b.SetBytes(n)
	p := NewPool(0)
	for b.Loop() {
		block, err := p.Alloc(n)
		if err != nil {
			b.Fatal(err)
		}
		clear(block.Bytes())
		block.Free()
	}
}
