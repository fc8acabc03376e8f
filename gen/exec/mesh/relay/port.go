package relay

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// ended is how many words of an inbox tell which turns have ended without a result, as in shaders/relay.comp.
const ended = 256

// wordBytes is the size of a word of a box: four bytes, and the number of their turn.
const wordBytes = 8

// OutboxBytes returns the size of memory through which a device sends so many bytes.
func OutboxBytes(n int) int { return words(n) * wordBytes }

// InboxBytes returns the size of memory through which a device gets so many bytes.
func InboxBytes(n int) int { return (ended + words(n)) * wordBytes }

// words returns how many words so many bytes are.
func words(n int) int { return (n + 3) / 4 }

// Port is the memory between a device and the host.
type Port struct {
	device any
	outbox []uint64 // the device writes it and the host reads it
	inbox  []uint64 // the host writes it, which may take long to read, and the device reads it

	// Guarded by Relay.mu.
	number uint32   // of the latest turn
	queue  []*Turn  // not over, in their order
	ended  []uint32 // the first words of the inbox
	closed bool
}

// NewPort returns a port of a device, which is comparable. The boxes are memory of the sizes that OutboxBytes and InboxBytes give, of
// which nobody else makes use.
func NewPort(device any, outbox, inbox []byte) *Port {
	p := &Port{device: device, outbox: boxed(outbox), inbox: boxed(inbox), ended: make([]uint32, ended)}
	clear(p.outbox)
	clear(p.inbox)
	drain()
	return p
}

func boxed(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/wordBytes)
}

// Holds reports whether the port has room for an operand and a result of so many bytes. They are whole words.
func (p *Port) Holds(operand, result int) bool {
	return operand > 0 && operand%4 == 0 && result%4 == 0 && operand/4 <= len(p.outbox) && ended+result/4 <= len(p.inbox)
}

// next returns the number of the next turn, which is not 0.
func (p *Port) next() uint32 {
	if p.number++; p.number == 0 {
		p.number++
	}
	if at := p.number % ended; p.ended[at] != 0 {
		p.endAt(at, 0)
	}
	return p.number
}

// take reads words of a turn that have come, from the one at a place on, and returns the place of the first that has not.
func (p *Port) take(number uint32, at int, to []byte) int {
	box := p.outbox[:len(to)/4]
	for ; at < len(box); at++ {
		x := atomic.LoadUint64(&box[at])
		if uint32(x>>32) != number {
			break
		}
		binary.LittleEndian.PutUint32(to[4*at:][:4], uint32(x))
	}
	return at
}

// give writes the words of a turn, each at once. Atomic stores would do that, too, but take a microsecond each where the memory is a device's.
//
//go:noinline
//go:norace
func (p *Port) give(number uint32, from []byte) {
	box, high := p.inbox[ended:][:len(from)/4], uint64(number)<<32
	for at := range box {
		box[at] = high | uint64(binary.LittleEndian.Uint32(from[4*at:][:4]))
	}
}

// endAt has a word of the inbox end the turn of a number.
//
//go:noinline
//go:norace
func (p *Port) endAt(at, number uint32) {
	p.ended[at] = number
	p.inbox[at] = uint64(number)
}

var drained atomic.Uint32

// drain has the processor pass on what it has gathered for the memory of devices.
func drain() { drained.Add(1) }
