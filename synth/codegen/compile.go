package codegen

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"

	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// CacheSize bounds the number of kernels in the cache. A usual program has some
// hundreds.
const CacheSize = 4096

// Cache keeps compiled kernels by the key of their program. The oldest is
// dropped first.
type Cache struct {
	Mu    sync.Mutex
	ByKey map[string]*lowering.Kernel
	Order []string
	hits  map[string]int // by key, those that VerifyHit has seen
}

// hit counts a hit of a key.
func (c *Cache) hit(key string) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.hits == nil {
		c.hits = make(map[string]int)
	}
	c.hits[key]++
	return c.hits[key]
}

var CompiledKernels = Cache{ByKey: map[string]*lowering.Kernel{}}

// Get returns the kernel of a key.
func (c *Cache) Get(key string) (*lowering.Kernel, bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	k, ok := c.ByKey[key]
	return k, ok
}

// Put keeps a kernel. If two callers have compiled the same one, both get the
// first.
func (c *Cache) Put(key string, k *lowering.Kernel) *lowering.Kernel {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if have, ok := c.ByKey[key]; ok {
		return have
	}
	if len(c.Order) == CacheSize {
		delete(c.ByKey, c.Order[0])
		c.Order = c.Order[1:]
	}
	c.ByKey[key] = k
	c.Order = append(c.Order, key)
	return k
}

// compile returns the kernel of a program.
func compile(t *lowering.Target, p *Program, fixed bool) (*lowering.Kernel, error) {
	key := FullKey(t, p, fixed)
	if k, ok := CompiledKernels.Get(key); ok {
		VerifyHit(key, k, func() ([]uint32, error) {
			ir, err := Build(t, p, fixed)
			if err != nil {
				return nil, err
			}
			return spirv.Compile(ir, SPIRVOptions(t)), nil
		})
		return k, nil
	}
	if k := FromArchive(t, key); k != nil {
		if p.Host != nil {
			k.Host = &lowering.HostCode{Routine: p.Host}
		}
		return CompiledKernels.Put(key, k), nil
	}
	ir, err := Build(t, p, fixed)
	if err != nil {
		return nil, err
	}
	code := spirv.Compile(ir, SPIRVOptions(t))
	k := &lowering.Kernel{Name: HashName(code), Code: code, Buffers: len(p.Buffers), Addresses: t.Addresses,
		PushBytes: PushSize(t, p, fixed), Local: ir.Local, SubgroupSize: int(ir.SubgroupSize), IR: ir, Host: &lowering.HostCode{Routine: p.Host}}
	Dump(k, ir)
	ToArchive(t, key, k)
	return CompiledKernels.Put(key, k), nil
}

// SPIRVOptions are the options of package spirv for a target.
func SPIRVOptions(t *lowering.Target) spirv.Options {
	return spirv.Options{Addresses: t.Addresses,
		Preserve32: t.Preserve32, Preserve64: t.Preserve64,
		RoundEven32: t.RoundEven32, RoundEven64: t.RoundEven64,
		Denorm32: t.Denorm32, Denorm64: t.Denorm64}
}

// Build writes the program as a kernel.
func Build(t *lowering.Target, p *Program, fixed bool) (*kernel.Kernel, error) {
	e := &Emitter{Builder: kernel.NewBuilder(p.Key, [3]uint32{p.Local, 1, 1}),
		Target: t, IndexType: p.Index, Local: int(p.Local), Buffers: p.Buffers}
	for _, b := range p.Buffers {
		elem := b.Elem
		if !t.Narrow(elem) {
			elem = kernel.U32
		}
		e.Buffer(elem, b.Access&lowering.Read != 0, b.Access&lowering.Write != 0)
	}
	for _, n := range p.Numbers {
		if fixed {
			e.nums = append(e.nums, e.Index(n))
		} else {
			e.nums = append(e.nums, e.Param(p.Index))
		}
	}
	for _, l := range p.Literals {
		for range PartsOf(l.As) {
			e.Lits = append(e.Lits, e.Param(WideType(l.As)))
		}
	}
	if err := p.Body(e); err != nil {
		return nil, err
	}
	k := e.Kernel()
	VerifyKernel(k)
	if n := sharedBytes(k); t.SharedMemory > 0 && n > t.SharedMemory {
		return nil, lowering.Unsupported("workgroups of %d bytes of shared memory", n)
	}
	return k, checkTypes(t, k)
}

// sharedBytes is the shared memory of a workgroup.
func sharedBytes(k *kernel.Kernel) (n int) {
	for _, s := range k.Shared {
		n += s.Len * kernel.TypeSize(s.Type)
	}
	return n
}

// checkTypes reports whether the device computes in all types of a kernel.
func checkTypes(t *lowering.Target, k *kernel.Kernel) error {
	for _, typ := range k.Types {
		switch {
		case typ == scalar.F64 && !t.Float64:
			return lowering.Unsupported("no f64 arithmetic")
		case kernel.Is64(typ) && typ != scalar.F64 && !t.Int64:
			return lowering.Unsupported("no 64-bit integers")
		}
	}
	return nil
}

// HashName is the hash of code, as CodeBytes has it.
func HashName(code []uint32) string {
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

// CodeBytes is code as the bytes of a file, little-endian.
func CodeBytes(code []uint32) []byte {
	b := make([]byte, 0, 4*len(code))
	for _, w := range code {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
