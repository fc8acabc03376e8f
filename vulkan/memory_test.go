package vulkan

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOutOfMemory(t *testing.T) {
	d := openTest(t, Options{MemoryLimit: 32 << 20, BlockSize: 8 << 20})
	var held []*Buffer
	for {
		b, err := d.Alloc(3 << 20)
		if err != nil {
			if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), strconv.Itoa(32<<20)) {
				t.Fatalf("got %v, want ErrOutOfMemory and the limit", err)
			}
			break
		}
		held = append(held, b)
	}
	if len(held) < 4 {
		t.Errorf("only %d buffers of 3 MiB in 32 MiB", len(held))
	}
	for _, b := range held {
		b.Free()
	}
	// One buffer as large as the limit fits only when all blocks return to the driver.
	b := must(d.Alloc(32 << 20))(t)
	b.Free()
	if d.Trim(); d.Stats().Reserved != 0 {
		t.Errorf("after Trim: %+v", d.Stats())
	}
}

// TestOutOfMemoryWithSmallBuffers fits buffers of one class only when slabs of other classes are
// dissolved.
func TestOutOfMemoryWithSmallBuffers(t *testing.T) {
	d := openTest(t, Options{MemoryLimit: 8 << 20, BlockSize: 4 << 20})
	for _, n := range []int{100, 5000, 70_000, 1 << 20, 300} {
		var held []*Buffer
		for total := 0; total < 3<<20; total += n {
			held = append(held, must(d.Alloc(n))(t))
		}
		for _, b := range held {
			b.Free()
		}
	}
}

func TestAllocationFault(t *testing.T) {
	fail := false
	d := openTest(t, Options{Fault: Fault{Alloc: func(uint64) bool { return fail }}})
	fail = true
	if _, err := d.Alloc(100); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("got %v, want ErrOutOfMemory", err)
	}
	fail = false
	must(d.Alloc(100))(t).Free()
}

func TestEmptyBuffer(t *testing.T) {
	d := openTest(t, Options{})
	b := must(d.Alloc(0))(t)
	if b.Len() != 0 || len(b.Bytes()) != 0 {
		t.Errorf("got %d bytes", b.Len())
	}
	if got := read(t, d, d.Stream(), b); len(got) != 0 {
		t.Errorf("read %d bytes", len(got))
	}
}

// resident returns the resident set of the process, or skips.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return pages * os.Getpagesize()
}

// TestFlatMemory records, runs and frees many times: neither the process, nor the reserved memory, nor
// the number of Vulkan objects grows.
func TestFlatMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("220,000 rounds take long, and -short is set")
	}
	d, err := Open(os.Getenv("NXVK_DEVICE"), Options{BlockSize: 8 << 20, KeepMemory: true})
	if errors.Is(err, ErrNoVulkan) || errors.Is(err, ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := affine(t, d, !d.Info().Bindings)
	s := d.Stream()
	round := func(n int) {
		a := must(d.Alloc(256))(t)
		for i := range n {
			b := must(d.Alloc(256 + i%7*1000))(t)
			if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(a)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			a.Free()
			a = b
			if i%500 == 499 {
				must(s.Submit())(t)
			}
			if i%5000 == 4999 {
				wait(t, d, must(s.Submit())(t))
			}
		}
		a.Free()
		wait(t, d, must(s.Submit())(t))
	}
	round(20_000)
	was, stats := resident(t), d.Stats()
	round(200_000)
	now, after := resident(t), d.Stats()
	if grown := now - was; grown > 24<<20 {
		t.Errorf("the process grew by %d MiB", grown>>20)
	}
	if after.Reserved != stats.Reserved || after.Blocks != stats.Blocks || after.InUse != 0 {
		t.Errorf("before %+v, after %+v", stats, after)
	}
	if n := d.queue.CommandBuffers(); n > 17 {
		t.Errorf("%d command buffers", n)
	}
}

// TestFillsDevice takes all memory of the device. That disturbs others who use it, so it runs only
// when NXVK_TEST_FILL is set.
func TestFillsDevice(t *testing.T) {
	if os.Getenv("NXVK_TEST_FILL") == "" {
		t.Skip("NXVK_TEST_FILL is not set")
	}
	d := openTest(t, Options{})
	var held []*Buffer
	size := min(d.Info().Limits.MaxAllocation, 3<<30)
	for size > 1<<20 {
		b, err := d.Alloc(int(size))
		switch {
		case errors.Is(err, ErrOutOfMemory):
			t.Logf("%d MiB in use: %v", d.Stats().InUse>>20, err)
			size /= 2
		case err != nil:
			t.Fatal(err)
		default:
			held = append(held, b)
		}
	}
	t.Logf("%d buffers, %+v", len(held), d.Stats())
	for _, b := range held {
		b.Free()
	}
	d.Trim()
	b := must(d.Alloc(1 << 20))(t)
	want := randomBytes(1 << 20)
	s := d.Stream()
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, s, b); !bytes.Equal(got, want) {
		t.Error("data differ")
	}
}
