package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// importing opens a device that imports memory of the host, or skips the test.
func importing(t testing.TB, o Options) *Device {
	t.Helper()
	d := openTest(t, o)
	if !d.Info().Features.HostImport {
		t.Skipf("%s imports no memory of the host", d.Info().Name)
	}
	return d
}

// TestImport: two devices and the host take turns to write the same memory, and each sees what the others
// have written, by kernels and by copies.
func TestImport(t *testing.T) {
	const words, rounds = 3 << 10, 60
	devices := []*Device{importing(t, Options{}), importing(t, Options{Fault: Fault{Unmapped: true, Uncached: true}})}
	mem := AllocShared(4 * words)
	var buffers, own []*Buffer
	var streams []*Stream
	var kernels []*Pipeline
	for _, d := range devices {
		buffers = append(buffers, must(d.Import(mem))(t))
		own = append(own, must(d.Alloc(4*words))(t))
		streams = append(streams, d.Stream())
		kernels = append(kernels, affine(t, d, false))
	}
	want := make([]uint32, words)
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(17, seed))
		for range rounds {
			i, mul, add := rng.IntN(3), rng.Uint32(), rng.Uint32()
			if i == 2 { // the host
				for k := range want {
					want[k] += add
					binary.LittleEndian.PutUint32(mem.Bytes()[4*k:], want[k])
				}
				continue
			}
			s := streams[i]
			if err := s.Dispatch(kernels[i], []Arg{WriteOnly(own[i]), ReadOnly(buffers[i])}, affinePush(words, mul, add), words/64, 1, 1); err != nil {
				t.Fatal(err)
			}
			if err := s.Copy(WriteOnly(buffers[i]), ReadOnly(own[i]), 4*words); err != nil {
				t.Fatal(err)
			}
			wait(t, devices[i], must(s.Submit())(t))
			for k := range want {
				want[k] = want[k]*mul + add
			}
		}
		for k := range want {
			if got := binary.LittleEndian.Uint32(mem.Bytes()[4*k:]); got != want[k] {
				t.Fatalf("seed %d: word %d is %d, want %d", seed, k, got, want[k])
			}
		}
	}
	mem.Free()
	for i := range devices {
		buffers[i].Free()
		own[i].Free()
	}
}

// TestImportLives: the memory stays while work uses it, and returns to the process after that, whatever is
// freed first and however a device ends.
func TestImportLives(t *testing.T) {
	lives := func(h *HostMemory) bool { _, ok := shared.Load(h); return ok }
	for _, first := range []string{"memory", "buffer", "device"} {
		t.Run(first, func(t *testing.T) {
			held := true
			d := importing(t, Options{Fault: Fault{Hold: func() bool { return held }}})
			mem := AllocShared(1)
			if len(mem.Bytes()) != hostAlign {
				t.Fatalf("%d bytes", len(mem.Bytes()))
			}
			b, s := must(d.Import(mem))(t), d.Stream()
			if err := s.Fill(WriteOnly(b), 0x01010101, b.Len()); err != nil {
				t.Fatal(err)
			}
			ticket := must(s.Submit())(t)
			if first == "memory" {
				mem.Free()
				mem.Free()
			}
			b.Free()
			if d.Trim(); !lives(mem) {
				t.Error("the memory has gone while submitted work writes it")
			}
			held = false
			s2 := d.Stream() // whose submission has the scheduler look again
			o := must(d.Alloc(4))(t)
			if err := s2.Fill(WriteOnly(o), 0, 4); err != nil {
				t.Fatal(err)
			}
			wait(t, d, must(s2.Submit())(t))
			wait(t, d, ticket)
			o.Free()
			if !bytes.Equal(mem.Bytes(), bytes.Repeat([]byte{1}, hostAlign)) {
				t.Error("the device has not written the memory")
			}
			if first == "device" {
				d.Close()
			} else {
				d.Trim()
			}
			if mem.Free(); lives(mem) {
				t.Error("the memory stays when nothing uses it")
			}
		})
	}
}

// TestImportRefused: a device without the extension, a driver that does not take memory, and a closed device
// return errors, and keep nothing.
func TestImportRefused(t *testing.T) {
	d := openTest(t, Options{Fault: Fault{NoImport: true}})
	mem := AllocShared(100)
	if _, err := d.Import(mem); !errors.Is(err, ErrInvalid) {
		t.Errorf("without the extension: %v", err)
	}
	d = importing(t, Options{})
	d.Close()
	if _, err := d.Import(mem); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed device: %v", err)
	}
	mem.Free()
	if _, ok := shared.Load(mem); ok {
		t.Error("the memory is kept")
	}
}

// TestImportMany: memory that comes and goes leaves nothing behind.
func TestImportMany(t *testing.T) {
	d := importing(t, Options{KeepMemory: true})
	before := d.Stats()
	for i := range 50 {
		mem := AllocShared(i << 14)
		b := must(d.Import(mem))(t)
		if got := b.Share(); got == nil || &got[0] != &mem.Bytes()[0] {
			t.Fatal("the buffer is not the memory")
		}
		b.Free()
		mem.Free()
		if _, ok := shared.Load(mem); ok {
			t.Fatal("the memory is kept")
		}
	}
	if after := d.Stats(); fmt.Sprint(after.Buffers, after.Reserved) != fmt.Sprint(before.Buffers, before.Reserved) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
