package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// cacheSize bounds the kernels that are kept. A program of the usual kind uses
// some hundreds.
const cacheSize = 4096

// cache keeps compiled kernels by what they were made from, oldest out first.
type cache struct {
	mu    sync.Mutex
	byKey map[string]*Kernel
	order []string
}

var kernels = cache{byKey: map[string]*Kernel{}}

func (c *cache) get(key string) (*Kernel, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.byKey[key]
	return k, ok
}

// put keeps a kernel. Where two callers compiled the same one, both get the
// first.
func (c *cache) put(key string, k *Kernel) *Kernel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.byKey[key]; ok {
		return have
	}
	if len(c.order) == cacheSize {
		delete(c.byKey, c.order[0])
		c.order = c.order[1:]
	}
	c.byKey[key] = k
	c.order = append(c.order, key)
	return k
}

// compiled returns the kernel of a program.
func (t *Target) compiled(p *program, fixed bool) (*Kernel, error) {
	key := t.fullKey(p, fixed)
	if k, ok := kernels.get(key); ok {
		return k, nil
	}
	if k := t.archived(key); k != nil {
		return kernels.put(key, k), nil
	}
	ir, err := t.build(p, fixed)
	if err != nil {
		return nil, err
	}
	code := spirv.Compile(ir, t.options())
	k := &Kernel{Name: contentName(code), Code: code, Buffers: len(p.bufs), Addresses: t.Addresses,
		PushBytes: t.pushBytes(p, fixed), Local: ir.Local, Lanes: int(ir.Lanes), IR: ir, host: new(hosted)}
	dump(k, ir)
	t.keep(key, k)
	return kernels.put(key, k), nil
}

func (t *Target) options() spirv.Options {
	return spirv.Options{Addresses: t.Addresses,
		Preserve32: t.Preserve32, Preserve64: t.Preserve64,
		RoundEven32: t.RoundEven32, RoundEven64: t.RoundEven64,
		Denorm32: t.Denorm32, Denorm64: t.Denorm64}
}

// build writes the program as a kernel.
func (t *Target) build(p *program, fixed bool) (*kernel.Kernel, error) {
	e := &emitter{Builder: kernel.NewBuilder(p.key, [3]uint32{p.local, 1, 1}),
		t: t, index: p.index, local: int(p.local), bufs: p.bufs}
	for _, b := range p.bufs {
		elem := b.elem
		if !t.narrow(elem) {
			elem = kernel.U32
		}
		e.Buffer(elem, b.access&Read != 0, b.access&Write != 0)
	}
	for _, n := range p.nums {
		if fixed {
			e.nums = append(e.nums, e.int(n))
		} else {
			e.nums = append(e.nums, e.Param(p.index))
		}
	}
	for _, l := range p.lits {
		for range partsOf(l.as) {
			e.lits = append(e.lits, e.Param(wide(l.as)))
		}
	}
	if err := p.body(e); err != nil {
		return nil, err
	}
	k := e.Kernel()
	verify(k)
	return k, t.checkTypes(k)
}

// checkTypes reports whether the device computes in all types of a kernel.
func (t *Target) checkTypes(k *kernel.Kernel) error {
	for _, typ := range k.Types {
		switch {
		case typ == scalar.F64 && !t.Float64:
			return unsupported("no f64 arithmetic")
		case kernel.Is64(typ) && typ != scalar.F64 && !t.Int64:
			return unsupported("no 64-bit integers")
		}
	}
	return nil
}

// contentName is the hash of code, as codeBytes has it.
func contentName(code []uint32) string {
	h := sha256.New()
	var room [4096]byte
	for part := range slices.Chunk(code, len(room)/4) {
		b := room[:0]
		for _, w := range part {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// codeBytes is code as a file has it.
func codeBytes(code []uint32) []byte {
	b := make([]byte, 0, 4*len(code))
	for _, w := range code {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
