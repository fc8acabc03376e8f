package vulkan

import (
	"fmt"
	"sync/atomic"

	"nxvk/vulkan/memory"
	"nxvk/vulkan/submit"
)

// Buffer is a piece of memory that kernels read and write.
type Buffer struct {
	d     *Device
	r     *memory.Region
	n     int
	freed atomic.Bool
	held  bool // from AllocHost or Share: the host may be writing it
}

// Alloc returns n bytes of device memory with undefined content. The memory may be that of a
// buffer freed while work on it still runs: the device finishes that first.
func (d *Device) Alloc(n int) (*Buffer, error) { return d.alloc(d.mem.Device, n, false, nil) }

// AllocHost returns n bytes that the host writes and the device reads, with undefined content:
// device memory where the host can map all of it, otherwise memory of the host, which kernels
// reach slowly.
func (d *Device) AllocHost(n int) (*Buffer, error) {
	b, err := d.alloc(d.mem.Host, n, true, nil)
	if err != nil {
		return nil, err
	}
	b.held = true
	d.hold()
	return b, nil
}

// AllocReader returns n bytes that kernels write and the host reads at full speed, with
// undefined content: a download of them copies nothing. Each write crosses the bus of the
// device while the kernel runs.
func (d *Device) AllocReader(n int) (*Buffer, error) { return d.alloc(d.mem.Reader, n, false, nil) }

func (d *Device) alloc(p *memory.Pool, n int, idle bool, f *submit.Flow) (*Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("allocate %d bytes: %w", n, ErrInvalid)
	}
	if err := d.dev.Gone(); err != nil {
		return nil, err
	}
	r, err := d.mem.Alloc(p, uint64(n), idle, f)
	if err != nil {
		return nil, err
	}
	return &Buffer{d: d, r: r, n: n}, nil
}

// Len returns the bytes asked for.
func (b *Buffer) Len() int { return b.n }

// Bytes returns the memory as the host sees it, or nil where it does not. The host may write
// it only while no submitted work uses it, as is so after AllocHost, and should read it only
// where Readable: other device memory is write-combined, and reading a word of it takes a
// microsecond.
func (b *Buffer) Bytes() []byte { return b.r.Bytes(b.n) }

// Writable returns the memory where the host may write it: the host sees it, and neither recorded nor
// running work uses the buffer. Otherwise it returns nil.
func (b *Buffer) Writable() []byte {
	m := b.Bytes()
	if m == nil || !b.d.mem.Idle(b.r) {
		return nil
	}
	return m
}

// Share returns the memory for the host to write and read, which is valid until Free, also after the
// device is closed. It returns nil where the host does not read it at full speed, and while recorded
// or running work uses the buffer.
func (b *Buffer) Share() []byte {
	if !b.Readable() {
		return nil
	}
	m := b.Writable()
	if m != nil && !b.held {
		b.held = true
		b.d.hold()
	}
	return m
}

// DeviceLocal reports whether the memory is the device's own.
func (b *Buffer) DeviceLocal() bool { return b.r.Pool().Local() }

// Readable reports whether the host reads Bytes at full speed.
func (b *Buffer) Readable() bool { return b.Bytes() != nil && b.r.Pool().Cached() }

// Address returns the address that kernels see, or 0 on a device without buffer device
// addresses. It is a multiple of 256.
func (b *Buffer) Address() uint64 { return b.r.Address() }

// Err returns why the content of the buffer was never computed; nil where it was, or will be.
// The device may have been lost since.
func (b *Buffer) Err() error { return b.d.mem.Err(b.r) }

// Free gives the memory back. Work recorded or running keeps it until it is complete. Free is
// idempotent; the buffer is not used after it.
func (b *Buffer) Free() {
	if b.freed.Swap(true) {
		return
	}
	b.d.mem.Release(b.r)
	if b.held {
		b.d.unhold()
	}
}

// check returns an error unless n bytes at off are in the buffer.
func (b *Buffer) check(off, n int) error {
	if off < 0 || n < 0 || off > b.n || n > b.n-off {
		return fmt.Errorf("%w: bytes %d to %d of a buffer of %d", ErrInvalid, off, off+n, b.n)
	}
	if b.freed.Load() {
		return fmt.Errorf("%w: the buffer is freed", ErrInvalid)
	}
	return nil
}
