package devcopy

import (
	"sync"
	"time"

	"nxvk/vulkan"
)

const (
	// SlotBytes is the size of chunks that devices pass to each other by themselves.
	SlotBytes = 8 << 20
	// slotCount is how many of them a device has on their way: those that it writes, those that others read, and
	// some that wait for a goroutine in between.
	slotCount = 6
	// slotsKept is how long the memory stays after the last use. It is page-locked meanwhile, and to lock a slot takes
	// half a millisecond.
	slotsKept = 10 * time.Second
)

// Slots are pieces of memory of the process for the values that a device sends to others. The device copies a chunk
// there, and another one copies it from there: no processor touches the bytes. The methods may be called from any
// goroutine.
type Slots struct {
	mu      sync.Mutex
	free    []*Slot
	out     int           // that are in use
	waiting []func(*Slot) // who has asked for one
	uses    uint64        // counts what is taken
	closed  bool
}

// Slot is a piece of memory that devices import.
type Slot struct {
	slots   *Slots
	mem     *vulkan.HostMemory
	buffers map[*vulkan.Device]*vulkan.Buffer // guarded by Slots.mu
}

// NewSlots returns the slots of a device, which take no memory yet.
func NewSlots() *Slots { return &Slots{} }

// Take calls f with a slot, once there is one, on any goroutine.
func (s *Slots) Take(f func(*Slot)) {
	s.mu.Lock()
	s.uses++
	t := s.take()
	if t == nil {
		s.waiting = append(s.waiting, f)
	}
	s.mu.Unlock()
	if t != nil {
		f(t)
	}
}

// Try returns a slot, nil where all are in use.
func (s *Slots) Try() *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	return s.take()
}

// take returns a slot, nil where all are in use. mu is held.
func (s *Slots) take() *Slot {
	n := len(s.free)
	if n == 0 && s.out >= slotCount {
		return nil
	}
	s.out++
	if n == 0 {
		return &Slot{slots: s, mem: vulkan.AllocShared(SlotBytes), buffers: make(map[*vulkan.Device]*vulkan.Buffer)}
	}
	t := s.free[n-1]
	s.free = s.free[:n-1]
	return t
}

// Give gives the slot back: no device uses it any more.
func (t *Slot) Give() {
	s := t.slots
	s.mu.Lock()
	if len(s.waiting) > 0 {
		f := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		f(t)
		return
	}
	s.out--
	if s.closed {
		t.drop()
	} else {
		s.free = append(s.free, t)
	}
	if uses := s.uses; s.out == 0 && !s.closed {
		time.AfterFunc(slotsKept, func() { s.trim(uses) })
	}
	s.mu.Unlock()
}

// Bytes returns the memory.
func (t *Slot) Bytes() []byte { return t.mem.Bytes() }

// On returns the slot as memory of a device, or says why the device cannot import it.
func (t *Slot) On(d *vulkan.Device) (*vulkan.Buffer, error) {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	if b := t.buffers[d]; b != nil {
		return b, nil
	}
	b, err := d.Import(t.mem)
	if err == nil {
		t.buffers[d] = b
	}
	return b, err
}

// Taken counts the slots that have been taken.
func (s *Slots) Taken() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

// Trim drops the free slots.
func (s *Slots) Trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropFree()
}

// trim is Trim where none has been taken since.
func (s *Slots) trim(uses uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses == uses {
		s.dropFree()
	}
}

// Close drops the free slots, and the others when they come back.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dropFree()
}

func (s *Slots) dropFree() {
	for _, t := range s.free {
		t.drop()
	}
	s.free = nil
}

func (t *Slot) drop() {
	for _, b := range t.buffers {
		b.Free()
	}
	clear(t.buffers)
	t.mem.Free()
}
