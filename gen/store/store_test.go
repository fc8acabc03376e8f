package store

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"nxvk/gen/wire"
	"nxvk/ops"
)

// bank counts the memory that has been given back.
type bank struct{ released int }

// memory is storage of n bytes that a session pays for, held once.
func (b *bank) memory(s *Session, n int64) *Storage {
	m := &Storage{Host: make([]byte, n), Release: func() { b.released++ }}
	m.Retain()
	s.Charge(m, n)
	return m
}

func session(id uint64) *Session { return NewSession(gen.PID{Node: "a@b", ID: id, Creation: 1}) }

// wantHeld checks what a session has and pays for.
func wantHeld(t *testing.T, s *Session, buffers int, bytes int64) {
	t.Helper()
	if s.Buffers() != buffers || s.Bytes() != bytes {
		t.Errorf("session %v has %d values and pays for %d bytes, want %d and %d", s.Owner, s.Buffers(), s.Bytes(), buffers, bytes)
	}
}

func value(m *Storage) Value { return Value{Type: ops.Type{DType: ops.U8}, Mem: m} }

func TestPutGetDelete(t *testing.T) {
	var b bank
	s := session(1)
	s.Put(5, value(b.memory(s, 100)))
	wantHeld(t, s, 1, 100)
	if v, ok := s.Get(5); !ok || len(v.Mem.Host) != 100 {
		t.Errorf("got %v, %v", v, ok)
	}
	if _, ok := s.Get(4); ok {
		t.Error("an id that nobody made has a value")
	}
	s.Delete(5)
	s.Delete(5)
	s.Delete(9)
	wantHeld(t, s, 0, 0)
	if b.released != 1 {
		t.Errorf("memory was given back %d times", b.released)
	}
}

// An id that is used again lets its first value go.
func TestPutAgain(t *testing.T) {
	var b bank
	s := session(1)
	s.Put(5, value(b.memory(s, 100)))
	s.Put(5, value(b.memory(s, 30)))
	wantHeld(t, s, 1, 30)
	if b.released != 1 {
		t.Errorf("memory was given back %d times", b.released)
	}
}

// A value that failed has an id and no memory.
func TestErrors(t *testing.T) {
	s, fault := session(1), errors.New("failed")
	s.Put(5, Value{Err: fault})
	wantHeld(t, s, 1, 0)
	if v, ok := s.Get(5); !ok || v.Err != fault {
		t.Errorf("got %v, %v", v, ok)
	}
	s.Delete(5)
	s.Put(6, Value{Err: fault})
	end(s)
	wantHeld(t, s, 0, 0)
}

// Views share memory, which is paid for once and given back with the last.
func TestViews(t *testing.T) {
	var b bank
	s := session(1)
	m := b.memory(s, 100)
	s.Put(1, value(m))
	m.Retain()
	s.Put(2, value(m))
	wantHeld(t, s, 2, 100)
	s.Delete(1)
	wantHeld(t, s, 1, 100)
	if b.released != 0 || m.Host == nil {
		t.Error("memory is gone while a view has it")
	}
	s.Delete(2)
	wantHeld(t, s, 0, 0)
	if b.released != 1 {
		t.Errorf("memory was given back %d times", b.released)
	}
}

// An importer holds memory without paying, also when its maker has let it go
// or has ended; then nobody pays.
func TestImport(t *testing.T) {
	for _, x := range []struct {
		name string
		end  func(maker *Session)
		paid int64
	}{
		{"maker frees", func(s *Session) { s.Delete(1) }, 100},
		{"maker ends", func(s *Session) { end(s) }, 0},
		{"maker frees, then ends", func(s *Session) { s.Delete(1); end(s) }, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			var b bank
			maker, importer := session(1), session(2)
			m := b.memory(maker, 100)
			maker.Put(1, value(m))
			m.Retain()
			importer.Put(7, value(m))
			wantHeld(t, importer, 1, 0)
			x.end(maker)
			wantHeld(t, maker, 0, x.paid)
			if v, ok := importer.Get(7); !ok || v.Mem.Host == nil {
				t.Error("the importer has lost the value")
			}
			end(importer)
			wantHeld(t, maker, 0, 0)
			if b.released != 1 {
				t.Errorf("memory was given back %d times", b.released)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	var b bank
	s := session(1)
	for id := range ops.ID(10) {
		s.Put(id+1, value(b.memory(s, 8)))
	}
	held := b.memory(s, 8) // by work under way
	end(s)
	end(s)
	wantHeld(t, s, 0, 0)
	if !s.Ended || b.released != 10 {
		t.Errorf("memory was given back %d times", b.released)
	}
	held.Drop()
	wantHeld(t, s, 0, 0)
}

func TestFits(t *testing.T) {
	var b bank
	s := session(1)
	if !s.Fits(math.MaxInt64) {
		t.Error("a session without a limit is full")
	}
	s.Put(1, value(b.memory(s, 60)))
	s.Limit = 100
	if !s.Fits(40) || s.Fits(41) || s.Fits(math.MaxInt64) {
		t.Errorf("%d of %d bytes are taken", s.Bytes(), s.Limit)
	}
	s.Limit = 10 // lowered below what is held
	if s.Fits(1) {
		t.Error("a session over its limit has room")
	}
}

// What is said of an id tells whether it was made and freed, or never.
func TestMissing(t *testing.T) {
	s := session(1)
	s.Put(5, Value{})
	s.Delete(5)
	for id, text := range map[ops.ID]string{5: "has been freed; free a value after", 4: "has been freed", 6: "no instruction of this session has made it, in this run of the server; have one"} {
		err := s.Missing(id)
		if wire.KindOf(err) != wire.UnknownID || !strings.Contains(err.Error(), text) {
			t.Errorf("id %d: %v, want …%s…", id, err, text)
		}
	}
}

func TestDropTwicePanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.HasPrefix(r.(string), "BUG: ") {
			t.Errorf("panic %v", r)
		}
	}()
	m := &Storage{}
	m.Retain()
	m.Drop()
	m.Drop()
}

// Keys differ and are small integers of the BEAM.
func TestKeys(t *testing.T) {
	seen := make(map[uint64]bool)
	for range 100 {
		k := session(1).Key
		if k >= 1<<59 || seen[k] {
			t.Fatalf("key %d", k)
		}
		seen[k] = true
	}
}

// end ends a session and lets go of its values.
func end(s *Session) {
	for _, m := range s.End() {
		m.Drop()
	}
}
