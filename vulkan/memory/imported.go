package memory

import (
	"fmt"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Imported is memory of the process that a device uses in place.
type Imported interface {
	Bytes() []byte // begin and end at multiples of Limits.ImportAlignment
	Drop()         // is called once, when the device does not use it any more
}

// Import makes memory of the process a region. The memory returns to its owner once the region is free and
// no submitted work uses it: at once, or when unused blocks next return to the driver. After an error the
// device does not use it.
func (m *Memory) Import(of Imported) (*Region, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.importBlock(of)
	if err != nil {
		return nil, err
	}
	p := b.pool
	p.blocks = append(p.blocks, b)
	m.ids++
	r := &Region{id: m.ids, blk: b, size: b.size, class: -1}
	m.handOut(r)
	return r, nil
}

// importBlock makes a block of memory of the process, none of which is free.
func (m *Memory) importBlock(of Imported) (*block, error) {
	d, mem := m.d, of.Bytes()
	what := fmt.Sprintf("import %d bytes", len(mem))
	types, r := vk.HostMemoryTypes(d.VK, mem)
	if r != vk.Success {
		return nil, d.Fail(what, r)
	}
	address := d.Info.Features.BufferDeviceAddress
	buffer, need, r := vk.CreateImportedBuffer(d.VK, uint64(len(mem)), address)
	if r != vk.Success {
		return nil, d.Fail(what, r)
	}
	const visible = vk.HostVisible | vk.HostCoherent
	kind := m.firstType(types&need.Types, visible|vk.HostCached, visible)
	if kind < 0 || need.Size > uint64(len(mem)) {
		vk.DestroyBuffer(d.VK, buffer)
		return nil, fmt.Errorf("%s: %w: the device has no type of memory for it", what, logical.ErrInvalid)
	}
	b := &block{pool: m.importedPool(kind), buffer: buffer, size: uint64(len(mem)), mapped: mem}
	if b.memory, r = vk.ImportHostMemory(d.VK, mem, kind, address); r != vk.Success {
		vk.DestroyBuffer(d.VK, buffer)
		return nil, d.Fail(what, r)
	}
	if r = vk.BindBufferMemory(d.VK, buffer, b.memory); r != vk.Success {
		b.destroy()
		return nil, d.Fail(what, r)
	}
	if address {
		b.addr = vk.GetBufferDeviceAddress(d.VK, buffer)
	}
	b.imported = of
	return b, nil
}

// importedPool returns the pool of imported memory of a type. No other memory comes from it.
func (m *Memory) importedPool(kind int) *Pool {
	for _, p := range m.pools {
		if p.kind == kind && p.imported {
			return p
		}
	}
	p := &Pool{mem: m, kind: kind, mapped: true, cached: true, imported: true}
	m.pools = append(m.pools, p)
	return p
}
