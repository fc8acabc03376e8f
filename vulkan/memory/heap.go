package memory

import (
	"fmt"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/submit"
	"nxvk/vulkan/vk"
)

// New returns the memory of a device. It picks the memory types of the three pools, and says in
// the limits of the device whether the host sees device memory.
func New(d *logical.Device, q *submit.Scheduler) (*Memory, error) {
	m := &Memory{d: d, q: q}
	m.aging.init(&d.Options)
	return m, m.pickTypes()
}

// pickTypes picks the memory types of the pools.
func (m *Memory) pickTypes() error {
	d := m.d
	b, need, r := vk.CreateBuffer(d.VK, alignment, d.Info.Features.BufferDeviceAddress)
	if r != vk.Success {
		return fmt.Errorf("probe memory: %w", r)
	}
	vk.DestroyBuffer(d.VK, b)
	device := m.deviceType(need.Types)
	if device < 0 {
		return fmt.Errorf("probe memory: no type for storage buffers: %w", logical.ErrOutOfMemory)
	}
	m.Device = m.pool(device)
	m.Device.mapped = m.Device.mapped && !d.Options.Fault.Unmapped
	m.Device.cached = m.Device.cached && !d.Options.Fault.Uncached
	if i := m.unmappedType(need.Types, device); m.Device.mapped && i >= 0 {
		m.overflow = m.pool(i)
	}
	m.Host, m.Reader = m.Device, m.Device
	const visible = vk.HostVisible | vk.HostCoherent
	if !m.Device.mapped {
		m.Host = m.pool(m.firstType(need.Types, visible|vk.HostCached, visible))
	}
	if !m.Device.mapped || !m.Device.cached {
		m.Reader = m.pool(m.firstType(need.Types, visible|vk.HostCached, visible))
	}
	d.Info.Limits.DeviceMemoryMapped = m.Device.mapped
	d.Info.Limits.Unified = m.Reader == m.Device
	return nil
}

// deviceType returns the memory type for kernels: of the largest device-local heap, the type that the
// host can map, if there is one. An upload is then a copy by the processor.
func (m *Memory) deviceType(allowed uint32) int {
	v := &m.d.Raw
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

// unmappedType returns a device-local type of the heap of type like that the host cannot see, or
// -1.
func (m *Memory) unmappedType(allowed uint32, like int) int {
	for i, t := range m.d.Raw.Types {
		if allowed>>i&1 != 0 && t.Heap == m.d.Raw.Types[like].Heap && t.Flags&(vk.DeviceLocal|vk.HostVisible) == vk.DeviceLocal {
			return i
		}
	}
	return -1
}

// firstType returns an allowed type with all flags of a mask, for the first mask for which there is
// one; or -1.
func (m *Memory) firstType(allowed uint32, masks ...uint32) int {
	for _, mask := range masks {
		for i, t := range m.d.Raw.Types {
			if allowed>>i&1 != 0 && t.Flags&mask == mask {
				return i
			}
		}
	}
	return -1
}

// pool returns the pool of a memory type.
func (m *Memory) pool(kind int) *Pool {
	t := m.d.Raw.Types[kind]
	for _, p := range m.pools {
		mapped := t.Flags&(vk.HostVisible|vk.HostCoherent) == vk.HostVisible|vk.HostCoherent
		if p.kind == kind && !p.imported && p.mapped == mapped && p.cached == (t.Flags&vk.HostCached != 0) {
			return p
		}
	}
	p := &Pool{
		mem: m, kind: kind,
		local:     t.Flags&vk.DeviceLocal != 0,
		mapped:    t.Flags&vk.HostVisible != 0 && t.Flags&vk.HostCoherent != 0,
		cached:    t.Flags&vk.HostCached != 0,
		blockSize: blockSize(m.d.Raw.Heaps[t.Heap].Size),
	}
	if n := m.d.Options.BlockSize; n > 0 {
		p.blockSize = roundUp(n, granule)
	}
	p.blockSize = min(p.blockSize, m.d.Info.Limits.MaxAllocation/granule*granule)
	m.pools = append(m.pools, p)
	return p
}

// blockSize returns the size of blocks: small where one block would be much of the heap.
func blockSize(heap uint64) uint64 {
	if heap <= 2<<30 {
		return 64 << 20
	}
	return 256 << 20
}
