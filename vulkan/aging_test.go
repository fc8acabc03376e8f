package vulkan

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// clock calls the functions that a device has asked to be called later, when tick is called.
type clock struct {
	mu  sync.Mutex
	due []func()
}

func (c *clock) after(_ time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, f)
}

// tick calls all functions, and reports whether there were any.
func (c *clock) tick() bool {
	c.mu.Lock()
	due := c.due
	c.due = nil
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
	return len(due) > 0
}

// TestIdleBlocks frees large and small buffers: their blocks return to the driver after a while, and
// blocks in use do not.
func TestIdleBlocks(t *testing.T) {
	var c clock
	d := openTest(t, Options{BlockSize: 4 << 20, After: c.after})
	s := d.Stream()
	kept := must(d.Alloc(1 << 20))(t)
	want := randomBytes(1 << 20)
	if err := s.Upload(kept, 0, want); err != nil {
		t.Fatal(err)
	}
	var held []*Buffer
	for i := range 40 {
		held = append(held, must(d.Alloc([]int{100, 70_000, 1 << 20, 3 << 20}[i%4]))(t))
	}
	most := d.Stats().Reserved
	if c.tick() {
		t.Fatal("the device looks for what is idle although nothing has been freed")
	}
	for _, b := range held {
		b.Free()
	}
	c.tick()
	if got := d.Stats().Reserved; got != most {
		t.Errorf("at once %d bytes of %d are left", got, most)
	}
	for range 3 {
		again := must(d.Alloc(100))(t) // a block that is in use now and then stays
		again.Free()
		c.tick()
	}
	if got := d.Stats(); got.Reserved > 12<<20 || got.Reserved < 1<<20 {
		t.Errorf("%+v, %d bytes before; want the slab of 8 MiB and the block of what is in use", got, most)
	}
	if got := read(t, d, s, kept); !bytes.Equal(got, want) {
		t.Error("what was in use has changed")
	}
	kept.Free()
	for c.tick() {
	}
	if got := d.Stats(); got.Reserved != 0 || got.InUse != 0 {
		t.Errorf("at the end %+v", got)
	}
	b := must(d.Alloc(1 << 20))(t)
	defer b.Free()
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, s, b); !bytes.Equal(got, want) {
		t.Error("data differ in a new block")
	}
}

// TestIdleStaging returns staging memory to the driver, except memory that a batch reads.
func TestIdleStaging(t *testing.T) {
	var c clock
	d := openTest(t, Options{BlockSize: 4 << 20, After: c.after, Fault: Fault{Unmapped: true, Uncached: true}})
	s := d.Stream()
	for range 2 {
		b := must(d.Alloc(6 << 20))(t)
		want := randomBytes(6 << 20)
		if err := s.Upload(b, 0, want); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			c.tick() // the last chunk has not been submitted
		}
		if got := read(t, d, s, b); !bytes.Equal(got, want) {
			t.Error("data differ")
		}
		b.Free()
		for c.tick() {
		}
		if got := d.Stats(); got.Reserved != 0 {
			t.Errorf("at the end %+v", got)
		}
	}
}

// TestKeepMemory keeps all blocks until Close.
func TestKeepMemory(t *testing.T) {
	var c clock
	d := openTest(t, Options{After: c.after, KeepMemory: true})
	must(d.Alloc(1000))(t).Free()
	if c.tick() || d.Stats().Reserved == 0 {
		t.Errorf("the block is gone: %+v", d.Stats())
	}
}

// TestIdleAfterClose looks for unused blocks after Close.
func TestIdleAfterClose(t *testing.T) {
	var c clock
	d := openTest(t, Options{After: c.after})
	must(d.Alloc(1000))(t).Free()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	c.tick()
	if c.tick() {
		t.Error("a closed device goes on looking")
	}
}

// TestIdleUnderWay returns blocks to the driver while other goroutines record, submit and free.
func TestIdleUnderWay(t *testing.T) {
	var c clock
	d := openTest(t, Options{BlockSize: 2 << 20, After: c.after})
	p := affine(t, d, !d.Info().Bindings)
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				c.tick()
			}
		}
	}()
	s := d.Stream()
	for i := range 300 {
		n := 1 + i*7919%(1<<18)
		a, b := must(d.Alloc(4*n))(t), must(d.Alloc(4*n))(t)
		want := randomBytes(4)
		if err := s.Upload(a, 0, want); err != nil {
			t.Fatal(err)
		}
		if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(a)}, affinePush(1, 1, 0), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
		a.Free()
		r := must(s.Download(b, 0, 4))(t)
		b.Free()
		wait(t, d, must(s.Submit())(t))
		if !bytes.Equal(r.Bytes(), want) {
			t.Fatalf("round %d: got %x, want %x", i, r.Bytes(), want)
		}
		r.Release()
	}
	close(done)
	<-ended
}
