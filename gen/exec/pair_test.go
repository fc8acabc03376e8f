package exec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// pair is two executors of one node, as the servers of two devices, on the goroutine of the test.
type pair struct {
	*testing.T
	from, to *rig
	down     bool // from has ended: it runs nothing any more
	shares   bool // large values go over memory that both devices import
}

// Ask has the executor of from run a function.
func (p *pair) Ask(f func(*Executor), gone func()) {
	p.from.Post(func() {
		if p.down {
			gone()
			return
		}
		f(p.from.exec)
	})
}

// pairs runs a test between hosts, devices whose memory the host sees, and devices as most GPUs are.
func pairs(t *testing.T, test func(p *pair)) {
	for _, kinds := range [][2]string{{"host", "host"}, {"host", "device"}, {"device", "host"}, {"device", "device"},
		{"GPU", "GPU"}, {"host", "GPU"}, {"GPU", "device"}, {"sharing", "sharing"}, {"sharing", "seen"},
		{"sharing", "refusing"}, {"refusing", "sharing"}} {
		t.Run(kinds[0]+" to "+kinds[1], func(t *testing.T) { test(newPair(t, kinds[0], kinds[1])) })
	}
}

func newPair(t *testing.T, from, to string) *pair {
	t.Helper()
	open := func(kind string) *rig {
		if kind == "host" {
			return newRig(t, nil)
		}
		seen := kind == "device" || kind == "seen"
		fault := vulkan.Fault{Unmapped: !seen, Uncached: !seen, NoImport: kind == "refusing"}
		if kind == "sharing" || kind == "seen" {
			fault.CopyQueues = 2
		}
		r := newRig(t, device(t, vulkan.Options{Fault: fault}))
		r.exec.sharing.exchanges = kind != "device" && kind != "GPU" // one that refuses finds out that it cannot
		return r
	}
	p := &pair{T: t, from: open(from), to: open(to)}
	p.shares = p.from.exec.sharing.exchanges && p.to.exec.sharing.exchanges // one of them may then find out that it cannot
	p.to.Posted = p.from.Posted
	p.from.exec.core.cfg.Name, p.from.exec.core.cfg.Incarnation = "nxvk_0", 7
	p.to.exec.core.cfg.Name = "nxvk_1"
	p.to.exec.core.cfg.Server = func(name string) Server {
		if name != "nxvk_0" {
			return nil
		}
		return p
	}
	return p
}

// take imports a value of a session of from into a session of to.
func (p *pair) take(q *Queue, id ops.ID, t ops.Type, of *Queue, theirs ops.ID) {
	p.to.exec.Stream(q, []wire.Instr{p.importOf(id, t, of, theirs)})
}

func (p *pair) importOf(id ops.ID, t ops.Type, of *Queue, theirs ops.ID) wire.Instr {
	return wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: id, Type: t}}},
		Shared: &wire.Shared{ID: theirs, Key: of.Session.Key, Server: "nxvk_0", Incarnation: 7,
			Owner: etf.Pid{Node: "test@host", ID: uint32(of.Session.Owner.ID), Creation: 7}}}
}

// bytesOf reads a value.
func (r *rig) bytesOf(q *Queue, id ops.ID) (out []byte, err error) {
	r.Helper()
	done := false
	r.exec.Read(q, id, 0, math.MaxInt, func(d Data, e error) {
		done, err, out = true, e, bytes.Clone(d.Bytes)
		if d.Release != nil {
			d.Release()
		}
	})
	r.Until(func() bool { return done })
	return out, err
}

// used is what values take of an executor's memory.
func (r *rig) used() uint64 {
	n := uint64(r.exec.memory.Host.Used())
	if r.Dev != nil {
		n += r.Dev.Stats().InUse
	}
	return n
}

// idle waits until nothing is on its way between the executors.
func (p *pair) idle() {
	p.Helper()
	p.from.Until(func() bool { return len(p.from.exec.sharing.senders) == 0 && p.to.exec.Building() == 0 })
	p.from.Settle(10 * time.Millisecond)
	p.from.exec.sharing.slots.Trim()
}

// random makes a value of the given bytes or so in some way, and returns its type.
func (r *rig) random(rng *rand.Rand, q *Queue, id ops.ID, size int) ops.Type {
	types := []ops.DType{ops.U8, ops.S8, ops.U4, ops.F8, ops.BF16, ops.F16, ops.F32, ops.S64, ops.F64, ops.C64, ops.C128}
	d := types[rng.IntN(len(types))]
	cols := 1 + rng.IntN(7)
	rows := max(1, size/(d.Size()*cols))
	t := ops.Type{DType: d, Shape: ops.Shape{rows, cols}}
	data := make([]byte, t.Bytes())
	for i := range data {
		data[i] = byte(rng.Uint32() & 0x0f) // a number of every type
	}
	lit := ops.Operand{Lit: &ops.Literal{Type: t, Data: data}}
	r.Do(q, ops.Tensor, id+1, t, nil, lit)
	switch rng.IntN(4) {
	case 0: // a view
		flat := ops.Type{DType: d, Shape: ops.Shape{rows * cols}}
		r.Do(q, ops.Reshape, id, flat, nil, ref(id+1))
		return flat
	case 1: // a part
		part := ops.Type{DType: d, Shape: ops.Shape{(rows + 1) / 2, cols}}
		r.Do(q, ops.Slice, id, part, [][]int{{rows / 2, 0}, part.Shape, {1, 1}}, ref(id+1))
		return part
	case 2: // other strides
		turned := ops.Type{DType: d, Shape: ops.Shape{cols, rows}}
		r.Do(q, ops.Transpose, id, turned, [][]int{{1, 0}}, ref(id+1))
		return turned
	}
	r.Do(q, ops.Tensor, id, t, nil, lit)
	return t
}
