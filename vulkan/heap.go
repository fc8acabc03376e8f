package vulkan

import (
	"fmt"

	"nxvk/vulkan/vk"
)

// init picks the memory types of the three pools.
func (m *memory) init(d *Device) error {
	m.d = d
	m.idle.init(&d.opts)
	b, need, r := vk.CreateBuffer(d.dev, alignment, d.info.Features.BufferDeviceAddress)
	if r != vk.Success {
		return fmt.Errorf("probe memory: %w", r)
	}
	vk.DestroyBuffer(d.dev, b)
	device := m.deviceType(need.Types)
	if device < 0 {
		return fmt.Errorf("probe memory: no type for storage buffers: %w", ErrOutOfMemory)
	}
	m.device = m.pool(device)
	m.device.mapped = m.device.mapped && !d.opts.Fault.Unmapped
	m.device.cached = m.device.cached && !d.opts.Fault.Uncached
	if i := m.unmappedType(need.Types, device); m.device.mapped && i >= 0 {
		m.overflow = m.pool(i)
	}
	m.host, m.reader = m.device, m.device
	const visible = vk.HostVisible | vk.HostCoherent
	if !m.device.mapped {
		m.host = m.pool(m.firstType(need.Types, visible|vk.HostCached, visible))
	}
	if !m.device.mapped || !m.device.cached {
		m.reader = m.pool(m.firstType(need.Types, visible|vk.HostCached, visible))
	}
	d.info.Limits.DeviceMemoryMapped = m.device.mapped
	d.info.Limits.Unified = m.reader == m.device
	return nil
}

// deviceType picks the type of the largest device-local heap, the mappable one
// where the host can see all of it: an upload is then a copy by the processor.
func (m *memory) deviceType(allowed uint32) int {
	v := &m.d.raw
	best := -1
	for i, t := range v.Types {
		if allowed>>i&1 == 0 || t.Flags&vk.DeviceLocal == 0 {
			continue
		}
		if best < 0 || v.Heaps[t.Heap].Size > v.Heaps[v.Types[best].Heap].Size {
			best = i
		}
	}
	if best < 0 {
		return m.firstType(allowed, 0, 0)
	}
	const want = vk.DeviceLocal | vk.HostVisible | vk.HostCoherent
	for i, t := range v.Types {
		if allowed>>i&1 != 0 && t.Heap == v.Types[best].Heap && t.Flags&want == want {
			return i
		}
	}
	return best
}

// unmappedType returns a device-local type that the host cannot see, of the
// same heap as type like, or -1.
func (m *memory) unmappedType(allowed uint32, like int) int {
	for i, t := range m.d.raw.Types {
		if allowed>>i&1 != 0 && t.Heap == m.d.raw.Types[like].Heap && t.Flags&(vk.DeviceLocal|vk.HostVisible) == vk.DeviceLocal {
			return i
		}
	}
	return -1
}

// firstType returns the first allowed type with all flags of the first mask
// that some type has, or -1.
func (m *memory) firstType(allowed uint32, masks ...uint32) int {
	for _, mask := range masks {
		for i, t := range m.d.raw.Types {
			if allowed>>i&1 != 0 && t.Flags&mask == mask {
				return i
			}
		}
	}
	return -1
}

// pool returns the pool of a memory type.
func (m *memory) pool(kind int) *pool {
	t := m.d.raw.Types[kind]
	for _, p := range m.pools {
		mapped := t.Flags&(vk.HostVisible|vk.HostCoherent) == vk.HostVisible|vk.HostCoherent
		if p.kind == kind && p.mapped == mapped && p.cached == (t.Flags&vk.HostCached != 0) {
			return p
		}
	}
	p := &pool{
		mem: m, kind: kind,
		local:     t.Flags&vk.DeviceLocal != 0,
		mapped:    t.Flags&vk.HostVisible != 0 && t.Flags&vk.HostCoherent != 0,
		cached:    t.Flags&vk.HostCached != 0,
		blockSize: blockSize(m.d.raw.Heaps[t.Heap].Size),
	}
	if n := m.d.opts.BlockSize; n > 0 {
		p.blockSize = roundUp(n, granule)
	}
	p.blockSize = min(p.blockSize, m.d.info.Limits.MaxAllocation/granule*granule)
	m.pools = append(m.pools, p)
	return p
}

// blockSize keeps the last block of a small heap from being most of it.
func blockSize(heap uint64) uint64 {
	if heap <= 2<<30 {
		return 64 << 20
	}
	return 256 << 20
}
