package vulkan

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model is streams, with the bytes that their buffers must hold.
type model struct {
	t     *testing.T
	d     *Device
	s     *Stream   // whose turn it is to record
	all   []*Stream // s among them
	p     *Pipeline
	rnd   *rand.Rand
	bufs  []*Buffer
	bytes [][]byte
	reads []pending
}

// pending is a download and the bytes that it must have.
type pending struct {
	s    *Stream
	r    *Readback
	want []byte
}

// TestRandomPrograms compares a random stream of commands with a model on the host.
func TestRandomPrograms(t *testing.T) {
	unmapped(t, func(t *testing.T, o Options) { randomPrograms(t, o, 1) })
}

// TestRandomStreams is TestRandomPrograms for several streams that use each other's memory. Their
// dispatches are expected to take long, so that streams wait for their turns and dispatches are cut.
func TestRandomStreams(t *testing.T) {
	unmapped(t, func(t *testing.T, o Options) {
		for _, o.Piece = range []time.Duration{0, 100 * time.Microsecond} {
			for _, o.Fault.Queues = range []int{0, 3} {
				randomPrograms(t, o, 5)
			}
		}
	})
}

// TestRandomCopyStreams is TestRandomStreams with streams that only copy, on queues of their own.
func TestRandomCopyStreams(t *testing.T) {
	unmapped(t, func(t *testing.T, o Options) {
		for _, o.Fault.CopyQueues = range []int{-1, 1, 2} {
			randomPrograms(t, o, 5)
		}
	})
}

func randomPrograms(t *testing.T, o Options, streams int) {
	o.BlockSize = 4 << 20
	d := openTest(t, o)
	m := &model{t: t, d: d, p: affine(t, d, true), rnd: rand.New(rand.NewPCG(1, 2))}
	for range streams {
		m.all = append(m.all, d.Stream())
	}
	for i := range o.Fault.CopyQueues {
		m.all = append(m.all, d.CopyStream(i), d.CopyStream(i))
	}
	m.s = m.all[0]
	for range 6 {
		m.alloc()
	}
	steps := []func(){m.upload, m.copy, m.fill, m.dispatch, m.download, m.replace, m.dispatch, m.copy}
	copies := []func(){m.upload, m.copy, m.fill, m.download, m.replace}
	for range 3000 {
		m.s = m.all[m.rnd.IntN(len(m.all))]
		step := steps[m.rnd.IntN(len(steps))]
		if m.s.apart {
			step = copies[m.rnd.IntN(len(copies))]
		}
		step()
		if m.rnd.IntN(40) == 0 {
			m.settle()
		} else if m.rnd.IntN(10) == 0 {
			must(m.s.Submit())(t)
		} else if streams > 1 && m.rnd.IntN(50) == 0 {
			m.retire()
		}
	}
	m.settle()
	for _, b := range m.bufs {
		b.Free()
	}
	if st := d.Stats(); st.Buffers > 0 || st.Reserved > 128<<20 {
		t.Errorf("left over: %+v", st)
	}
}

// retire closes a stream that has submitted all its commands, and replaces it by another. Other
// streams go on to use its results.
func (m *model) retire() {
	must(m.s.Submit())(m.t)
	if slices.ContainsFunc(m.reads, func(p pending) bool { return p.s == m.s }) {
		m.settle()
	}
	m.s.Close()
	i := slices.Index(m.all, m.s)
	if m.all[i] = m.d.Stream(); m.s.apart {
		m.all[i] = m.d.CopyStream(i)
	}
	m.s = m.all[i]
}

func (m *model) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) alloc() {
	n := 4 * (1 + m.rnd.IntN(3000))
	b := must(m.s.Alloc(n))(m.t)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(m.rnd.Uint32())
	}
	m.check(m.s.Upload(b, 0, data))
	m.bufs, m.bytes = append(m.bufs, b), append(m.bytes, data)
}

// replace frees a buffer and allocates another.
func (m *model) replace() {
	i := m.rnd.IntN(len(m.bufs))
	m.bufs[i].Free()
	last := len(m.bufs) - 1
	m.bufs[i], m.bytes[i] = m.bufs[last], m.bytes[last]
	m.bufs, m.bytes = m.bufs[:last], m.bytes[:last]
	m.alloc()
}

// pick returns a buffer and a random range of it.
func (m *model) pick() (i, off, n int) {
	i = m.rnd.IntN(len(m.bufs))
	off = m.rnd.IntN(m.bufs[i].Len())
	return i, off, m.rnd.IntN(m.bufs[i].Len() - off + 1)
}

// own gives the model of a buffer a copy of its bytes: a download holds the old ones.
func (m *model) own(i int) []byte {
	m.bytes[i] = bytes.Clone(m.bytes[i])
	return m.bytes[i]
}

// writable settles first where a readback may share memory with the buffer.
func (m *model) writable() {
	if len(m.reads) > 0 && m.d.Info().Limits.Unified {
		m.settle()
	}
}

func (m *model) upload() {
	m.writable()
	i, off, n := m.pick()
	data := make([]byte, n)
	for k := range data {
		data[k] = byte(m.rnd.Uint32())
	}
	m.check(m.s.Upload(m.bufs[i], off, data))
	copy(m.own(i)[off:], data)
}

func (m *model) copy() {
	m.writable()
	i, off, n := m.pick()
	j, to, most := m.pick()
	if i == j {
		return
	}
	n = min(n, most)
	m.check(m.s.Copy(Arg{Buffer: m.bufs[j], Offset: to}, Arg{Buffer: m.bufs[i], Offset: off}, n))
	copy(m.own(j)[to:], m.bytes[i][off:off+n])
}

func (m *model) fill() {
	m.writable()
	i, off, n := m.pick()
	off, n = off&^3, n&^3
	v := m.rnd.Uint32()
	m.check(m.s.Fill(Arg{Buffer: m.bufs[i], Offset: off}, v, n))
	for b := m.own(i)[off : off+n]; len(b) > 0; b = b[4:] {
		binary.LittleEndian.PutUint32(b, v)
	}
}

func (m *model) dispatch() {
	m.writable()
	i, off, n := m.pick()
	j, to, most := m.pick()
	off, to, n = off&^3, to&^3, min(n, most)/4
	if i == j || n == 0 {
		return
	}
	mul, add := m.rnd.Uint32(), m.rnd.Uint32()
	dst := Arg{Buffer: m.bufs[j], Offset: to, Size: 4 * n, Access: Write}
	src := Arg{Buffer: m.bufs[i], Offset: off, Size: 4 * n, Access: Read}
	m.check(m.s.Dispatch(m.p, []Arg{dst, src}, affinePush(uint32(n), mul, add), uint32(n+63)/64, 1, 1))
	m.s.Expect(m.rnd.ExpFloat64() * 1e-3)
	out, in := m.own(j)[to:], m.bytes[i][off:]
	for k := range n {
		binary.LittleEndian.PutUint32(out[4*k:], binary.LittleEndian.Uint32(in[4*k:])*mul+add)
	}
}

func (m *model) download() {
	i, off, n := m.pick()
	r := must(m.s.Download(m.bufs[i], off, n))(m.t)
	m.reads = append(m.reads, pending{m.s, r, m.bytes[i][off : off+n]})
}

// settle waits, and compares the downloads with the model.
func (m *model) settle() {
	m.t.Helper()
	for _, s := range m.all {
		wait(m.t, m.d, must(s.Submit())(m.t))
	}
	for k, p := range m.reads {
		if !bytes.Equal(p.r.Bytes(), p.want) {
			m.t.Fatalf("download %d of %d bytes differs", k, len(p.want))
		}
		p.r.Release()
	}
	m.reads = m.reads[:0]
}
