package vulkan

import (
	"fmt"
	"sync/atomic"
)

// Buffer is a piece of memory that kernels read and write.
type Buffer struct {
	d     *Device
	r     *region
	n     int
	freed atomic.Bool
	held  bool         // from AllocHost: the host may be writing it
	uses  atomic.Int32 // by commands and uploads, up to a few
	away  bool         // redirected to memory of the host
}

// Alloc returns n bytes of device memory with undefined content. The memory
// may be that of a buffer freed while work on it still runs: the device
// finishes that first.
func (d *Device) Alloc(n int) (*Buffer, error) { return d.alloc(d.mem.device, n, false, nil) }

// AllocHost returns n bytes that the host writes and the device reads, with
// undefined content: device memory where the host can map all of it, else
// memory of the host, which kernels reach but slowly.
func (d *Device) AllocHost(n int) (*Buffer, error) {
	b, err := d.alloc(d.mem.host, n, true, nil)
	if err != nil {
		return nil, err
	}
	b.held = true
	d.hold()
	return b, nil
}

// AllocReader returns n bytes that kernels write and the host reads at full
// speed, with undefined content: a download of them copies nothing. Writes pass
// the bus of the device one by one, while kernels run.
func (d *Device) AllocReader(n int) (*Buffer, error) { return d.alloc(d.mem.reader, n, false, nil) }

func (d *Device) alloc(p *pool, n int, idle bool, f *flow) (*Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("allocate %d bytes: %w", n, ErrInvalid)
	}
	if err := d.gone(); err != nil {
		return nil, err
	}
	r, err := d.mem.alloc(p, uint64(n), idle, f)
	if err != nil {
		return nil, err
	}
	return &Buffer{d: d, r: r, n: n}, nil
}

// Len returns the bytes asked for.
func (b *Buffer) Len() int { return b.n }

// Bytes returns the memory as the host sees it, or nil when it does not. The
// host may write it only while no submitted work uses it, as is so after
// AllocHost, and should read it only where Readable: other device memory is
// write-combined, and reading it takes a microsecond a word.
func (b *Buffer) Bytes() []byte {
	if b.r.blk.mapped == nil {
		return nil
	}
	return b.r.blk.mapped[b.r.off:][:b.n:b.n]
}

// Writable returns the memory where the host may write it: no recorded or running work uses
// the buffer, and the host sees it. Else it returns nil. What the host writes counts as a
// use of the buffer.
func (b *Buffer) Writable() []byte {
	m := b.Bytes()
	if m == nil || !b.idle() {
		return nil
	}
	b.used()
	return m
}

// DeviceLocal reports whether the memory is the device's own.
func (b *Buffer) DeviceLocal() bool { return b.r.blk.pool.local }

// Readable reports whether the host reads Bytes at full speed.
func (b *Buffer) Readable() bool { return b.r.blk.mapped != nil && b.r.blk.pool.cached }

// Address returns the address kernels see, or 0 on a device without buffer
// device addresses. It is a multiple of 256.
func (b *Buffer) Address() uint64 {
	if b.r.blk.addr == 0 {
		return 0
	}
	return b.r.blk.addr + b.r.off
}

// Free gives the memory back. Work recorded or running keeps it until it is
// done. Free is idempotent; the buffer is not used after it.
func (b *Buffer) Free() {
	if b.freed.Swap(true) {
		return
	}
	b.d.mem.release(b.r)
	if b.held {
		b.d.unhold()
	}
}

// used counts a use, as far as one can be told from more.
func (b *Buffer) used() {
	if b.uses.Load() < 2 {
		b.uses.Add(1)
	}
}

// idle reports whether neither recorded nor running work uses the buffer.
func (b *Buffer) idle() bool {
	return b.r.refs.Load() == 0 && b.d.mem.unused(b.r)
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
