package store

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
)

func TestBudget(t *testing.T) {
	b := NewBudget(100)
	if err := b.Take(60); err != nil {
		t.Fatal(err)
	}
	err := b.Take(41)
	if !errors.Is(err, ErrOutOfMemory) {
		t.Fatalf("41 of 40 bytes: got %v, want %v", err, ErrOutOfMemory)
	}
	for _, part := range []string{"allocate 41 bytes", "60 of the limit of 100 bytes", "--memory-limit"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if err := b.Take(40); err != nil {
		t.Error(err)
	}
	b.Give(100)
	if b.Used() != 0 || b.Peak() != 100 || b.Limit() != 100 {
		t.Errorf("used %d, peak %d, limit %d; want 0, 100, 100", b.Used(), b.Peak(), b.Limit())
	}
}

// What arrives may go beyond the limit by a quarter, and then is over it.
func TestBudgetEarly(t *testing.T) {
	b := NewBudget(100)
	if err := b.TakeEarly(126); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("126 bytes: got %v, want %v", err, ErrOutOfMemory)
	}
	if err := b.TakeEarly(125); err != nil || !b.Over() {
		t.Errorf("125 bytes: %v, over is %v", err, b.Over())
	}
	if err := b.Take(1); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("beyond the limit: got %v, want %v", err, ErrOutOfMemory)
	}
	b.Give(25)
	if b.Over() {
		t.Error("100 of 100 bytes are over the limit")
	}
}

func TestBudgetWithoutLimit(t *testing.T) {
	b := NewBudget(0)
	if err := b.Take(math.MaxInt64 - 1); err != nil {
		t.Error(err)
	}
	if err := b.TakeEarly(2); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("more than can be counted: got %v, want %v", err, ErrOutOfMemory)
	}
}

// Whoever takes at the same time as others, the limit holds.
func TestBudgetTogether(t *testing.T) {
	b := NewBudget(1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10_000 {
				if b.Take(300) == nil {
					b.Give(300)
				}
			}
		})
	}
	all.Wait()
	if b.Used() != 0 || b.Peak() > 1000 {
		t.Errorf("used %d, peak %d; want 0 and at most 1000", b.Used(), b.Peak())
	}
}

// Storage gives what it took back once, with the host's copy or the last hold.
func TestStorageGivesBack(t *testing.T) {
	b := NewBudget(100)
	m := &Storage{Host: make([]byte, 60)}
	m.Retain()
	if err := m.Take(b, 60); err != nil {
		t.Fatal(err)
	}
	m.FreeHost()
	if m.Host != nil || b.Used() != 0 {
		t.Errorf("%d bytes are in use after the host's copy is free", b.Used())
	}
	m.Drop()
	if b.Used() != 0 {
		t.Errorf("%d bytes are in use after the last hold", b.Used())
	}
	m = &Storage{}
	if err := m.Take(b, 101); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("got %v, want %v", err, ErrOutOfMemory)
	}
	m.Retain()
	m.Drop()
}

func TestBudgetGivenTooMuchPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Error("no panic")
		}
	}()
	NewBudget(10).Give(1)
}
