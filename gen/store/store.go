package store

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// Storage is the memory of a value: on the host, on the device, or both, with
// the same contents. Values that are views of each other share one.
type Storage struct {
	Host    []byte         // dense elements, or nil
	Shadow  bool           // Host is for kernels alone, see OnHost
	Dev     *vulkan.Buffer // the same on the device, or nil
	Release func()         // gives Host back where it is not Go memory
	Size    int64          // bytes charged to Owner
	Owner   *Session       // who pays, until its session ends

	Checks Checks // checks of the contents that the device has not finished

	Pins int // computations under way that read or write Host, and readers that it is lent to

	refs   int
	budget *Budget // the budget that the bytes of Host are taken from, or nil
	taken  int64
}

// Value is the value of an id: a type and its memory, or the error of the instruction
// that should have computed it.
type Value struct {
	Type ops.Type
	Mem  *Storage
	Err  error // with Mem nil
}

// Retain adds a holder of the memory.
func (m *Storage) Retain() { m.refs++ }

// Sole reports whether the memory has one holder.
func (m *Storage) Sole() bool { return m.refs == 1 }

// OnHost reports whether the value is on the host, as far as the choice of a place for
// work is concerned. Values that the host has computed or read for the device count as
// the device's, so the next choice is the same as if the device had computed them.
func (m *Storage) OnHost() bool { return m.Host != nil && !m.Shadow }

// Bring reports whether the value is on the host, where it counts as being from now on.
// Where it is not, the caller reads it back.
func (m *Storage) Bring() bool {
	m.Shadow = false
	return m.Host != nil
}

// Drop gives up one hold; the last one frees the memory.
func (m *Storage) Drop() {
	if m.refs--; m.refs > 0 {
		return
	}
	if m.refs < 0 {
		panic("BUG: storage dropped too often")
	}
	if m.Owner != nil && !m.Owner.Ended {
		m.Owner.bytes -= m.Size
	}
	m.FreeHost()
	if m.Dev != nil {
		m.Dev.Free()
	}
	m.Dev = nil
}

// DropAll gives up a hold on each of a list.
func DropAll(mems []*Storage) {
	for _, m := range mems {
		m.Drop()
	}
}

// Take has a budget pay n bytes for Host until FreeHost or the last Drop.
func (m *Storage) Take(b *Budget, n int64) error {
	if err := b.Take(n); err != nil {
		return err
	}
	m.budget, m.taken = b, n
	return nil
}

// OwnsHost reports whether a budget pays for Host: it is neither lent nor that of a literal.
func (m *Storage) OwnsHost() bool { return m.budget != nil }

// HostOf takes the memory on the host over from another storage, which is left without.
func (m *Storage) HostOf(from *Storage) {
	m.Host, m.Release, m.budget, m.taken = from.Host, from.Release, from.budget, from.taken
	from.Host, from.Release, from.budget, from.taken = nil, nil, nil, 0
}

// FreeHost lets go of the memory on the host.
func (m *Storage) FreeHost() {
	if m.Release != nil {
		m.Release()
	}
	if m.budget != nil {
		m.budget.Give(m.taken)
	}
	m.Host, m.Release, m.budget, m.taken = nil, nil, nil, 0
}

// Session is what one process has made.
type Session struct {
	Owner    gen.PID
	Key      uint64 // who knows it may import
	Label    string
	Limit    int64         // bytes
	Sweep    bool          // the process answers requests to sweep
	Deadline time.Duration // of an instruction or a run; 0 is none
	Weight   float64       // its share of processors and device beside those of others
	Last     ops.ID
	Ended    bool

	values map[ops.ID]Value
	bytes  int64
}

// NewSession returns an empty session of a process.
func NewSession(owner gen.PID) *Session {
	return &Session{Owner: owner, Key: secret(), Limit: math.MaxInt64, Weight: 1, values: make(map[ops.ID]Value)}
}

// secret is a random key. It stays below 2^59, a small integer of the BEAM.
func secret() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) >> 5
}

// Buffers returns how many values the session holds.
func (s *Session) Buffers() int { return len(s.values) }

// Bytes returns how much memory the session is charged for.
func (s *Session) Bytes() int64 { return s.bytes }

// Fits reports whether n more bytes are within the session's limit.
func (s *Session) Fits(n int64) bool { return n <= s.Limit-s.bytes }

// Charge makes the session pay for the memory.
func (s *Session) Charge(m *Storage, n int64) {
	m.Owner, m.Size = s, n
	s.bytes += n
}

// Get returns the value of an id.
func (s *Session) Get(id ops.ID) (Value, bool) {
	v, ok := s.values[id]
	return v, ok
}

// Put gives a value an id. The caller's hold on its memory passes to the
// session; a value that had the id is let go.
func (s *Session) Put(id ops.ID, v Value) {
	s.Delete(id)
	s.values[id] = v
	s.Last = max(s.Last, id)
}

// Delete lets go of the value of an id, if there is one.
func (s *Session) Delete(id ops.ID) {
	v, ok := s.values[id]
	if !ok {
		return
	}
	delete(s.values, id)
	if v.Mem != nil {
		v.Mem.Drop()
	}
}

// Fail makes the values whose memory is bad carry an error.
func (s *Session) Fail(bad func(*Storage) bool, err error) {
	for id, v := range s.values {
		if v.Mem != nil && bad(v.Mem) {
			s.values[id] = Value{Type: v.Type, Err: err}
			v.Mem.Drop()
		}
	}
}

// End takes all values from the session and returns their memory, a hold each, for the caller to
// drop: there may be so many that others have their turn in between. Importers keep what they
// have; nobody pays for it any more.
func (s *Session) End() (mems []*Storage) {
	s.Ended, s.bytes = true, 0
	for _, v := range s.values {
		if v.Mem != nil {
			mems = append(mems, v.Mem)
		}
	}
	s.values = make(map[ops.ID]Value)
	return mems
}

// Missing is the fault of an id that the session does not hold.
func (s *Session) Missing(id ops.ID) error {
	if id > s.Last {
		return &wire.Fault{Kind: wire.UnknownID, Err: unknownID{id, "no instruction of this session has made it, in this run of the server; have one name it as its result first, or import it from the session that has it"}}
	}
	return &wire.Fault{Kind: wire.UnknownID, Err: unknownID{id, "it has been freed; free a value after what needs it, or compute it again"}}
}
