package packet

import (
	"encoding/binary"
	"net"

	"nxvk/gen/etf"
)

// entry is what stands in line: a long message that goes out in fragments, or a short
// one of a sender that has a long one in line.
type entry struct {
	from     etf.Pid
	sequence uint64
	left     uint64 // fragments to go
	short    bool
	batch
}

// next appends m's next fragment to out, or all of it where it is short.
func (m *entry) next(out net.Buffers, done []func()) (net.Buffers, []func(), bool) {
	if m.short {
		out, done = m.take(1<<62, out, done)
		return out, done, true
	}
	n := min(fragmentSize, m.rest())
	head := make([]byte, 0, 24)
	size := 18 + n
	kind := byte(kindFragments)
	if m.at == 0 {
		kind = kindFragment
		size++
	}
	head = binary.BigEndian.AppendUint32(head, uint32(size))
	head = append(head, etf.Version, kind)
	head = binary.BigEndian.AppendUint64(head, m.sequence)
	head = binary.BigEndian.AppendUint64(head, m.left)
	if kind == kindFragment {
		head = append(head, 0) // no atom cache references
	}
	m.left--
	out, done = m.take(n, append(out, head), done)
	return out, done, m.left == 0
}
