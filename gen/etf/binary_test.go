package etf

import (
	"runtime"
	"testing"
	"time"
)

func TestPoolReuses(t *testing.T) {
	p := NewPool(1 << 20)
	a, err := p.Alloc(100_000)
	if err != nil {
		t.Fatal(err)
	}
	a.Bytes()[0] = 1
	a.Free()
	kept := p.Kept()
	if kept < 100_000 {
		t.Fatalf("kept %d bytes", kept)
	}
	b, _ := p.Alloc(100_000)
	if p.Kept() != 0 {
		t.Fatal("the freed block is not reused")
	}
	big, _ := p.Alloc(2 << 20)
	big.Free()
	b.Free()
	if p.Kept() != kept {
		t.Fatalf("kept %d bytes, want %d", p.Kept(), kept)
	}
}

// TestPoolAges gives back what nobody has taken since the last look, and no more.
func TestPoolAges(t *testing.T) {
	p := NewPool(64 << 20)
	var due []func()
	p.Age(time.Second, func(_ time.Duration, f func()) { due = append(due, f) })
	look := func() (n int) {
		if len(due) != 1 {
			t.Fatalf("%d looks are due, want 1", len(due))
		}
		f := due[0]
		due = nil
		f()
		return p.Kept()
	}
	var blocks []Block
	for range 4 {
		b, err := p.Alloc(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	if len(due) != 0 {
		t.Error("the pool looks although it keeps nothing")
	}
	for _, b := range blocks {
		b.Free()
	}
	if got := look(); got != 4<<20 {
		t.Errorf("at the first look %d bytes are kept, want all", got)
	}
	b, _ := p.Alloc(1 << 20)
	b.Free() // this one has been used since
	if got := look(); got != 1<<20 {
		t.Errorf("%d bytes are kept, want the block that was used since", got)
	}
	if got := look(); got != 0 || len(due) != 0 {
		t.Errorf("%d bytes are kept, %d looks are due", got, len(due))
	}
	b, _ = p.Alloc(1 << 20)
	copy(b.Bytes(), "a new block")
	b.Free()
}

func TestClassSize(t *testing.T) {
	for n := 1; n < 1<<32; n += n/7 + 1 {
		size := BlockSize(n)
		if size < n || n > 1<<16 && size > n+n/4 || size%4096 != 0 {
			t.Errorf("class of %d bytes is %d", n, size)
		}
	}
}

func TestBinaryShares(t *testing.T) {
	p := NewPool(1 << 30)
	block, _ := p.Alloc(LargeBinary)
	b := NewBinary(block, LargeBinary)
	b.Retain()
	if got, _ := b.Take(); got != nil {
		t.Fatal("took a binary that somebody else holds")
	}
	b.Release()
	if p.Kept() != 0 {
		t.Fatal("freed while held")
	}
	b.Release()
	if p.Kept() == 0 || b.Bytes() != nil {
		t.Fatal("the last release freed nothing")
	}

	block, _ = p.Alloc(LargeBinary)
	b = NewBinary(block, 10)
	got, n := b.Take()
	if got != block || n != 10 {
		t.Fatalf("took %v and %d bytes", got, n)
	}
	b.Release()
	if p.Kept() != 0 {
		t.Fatal("a taken block was freed")
	}
}

func TestDroppedBinaryIsFreed(t *testing.T) {
	p := NewPool(1 << 30)
	block, _ := p.Alloc(LargeBinary)
	NewBinary(block, LargeBinary)
	for p.Kept() == 0 {
		runtime.GC()
		runtime.Gosched()
	}
}
