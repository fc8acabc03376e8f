package pipeline

import (
	"fmt"
	"sync"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Layout is the interface of a kernel.
type Layout struct {
	// Buffers is the number of buffers. With Addresses, their 64-bit addresses are the
	// first push constants; otherwise they are storage buffers at bindings 0 to Buffers-1
	// of set 0.
	Buffers   int
	Addresses bool
	// PushBytes is the size of the parameters, a multiple of 4. In the push constants they
	// follow the addresses.
	PushBytes int
	// Spec are the values of specialisation constants 0, 1, 2 …
	Spec []uint32
	// SubgroupSize is the subgroup size to use; 0 leaves it to the driver.
	SubgroupSize int
	// Whole means that the workgroups of a dispatch wait for each other or count each
	// other, so that the dispatch is never cut into parts.
	Whole bool
}

// PushSize returns the bytes of push constants, addresses included.
func (l *Layout) PushSize() int {
	if l.Addresses {
		return 8*l.Buffers + l.PushBytes
	}
	return l.PushBytes
}

// check returns an error where the device cannot take a kernel of this layout.
func (l *Layout) check(d *logical.Device, code []uint32) error {
	const magic = 0x07230203
	switch {
	case len(code) < 5 || code[0] != magic:
		return fmt.Errorf("%w: not SPIR-V", logical.ErrInvalid)
	case l.Buffers < 0 || l.PushBytes < 0 || l.PushBytes%4 != 0:
		return fmt.Errorf("%w: %d buffers, %d push bytes", logical.ErrInvalid, l.Buffers, l.PushBytes)
	case l.Addresses && !d.Info.Features.BufferDeviceAddress:
		return fmt.Errorf("%w: the device has no buffer addresses", logical.ErrInvalid)
	case !l.Addresses && l.Buffers > d.Info.Limits.MaxBindings:
		return fmt.Errorf("%w: %d buffers, at most %d can be bound", logical.ErrInvalid, l.Buffers, d.Info.Limits.MaxBindings)
	case l.PushSize() > d.Info.Limits.MaxPush:
		return fmt.Errorf("%w: %d bytes of addresses and parameters, the device takes %d; put the rest into a buffer",
			logical.ErrInvalid, l.PushSize(), d.Info.Limits.MaxPush)
	case len(l.Spec) > vk.MaxSpecs:
		return fmt.Errorf("%w: %d specialisation constants, at most %d", logical.ErrInvalid, len(l.Spec), vk.MaxSpecs)
	case l.SubgroupSize != 0 && !d.Info.Features.SubgroupSize:
		return fmt.Errorf("%w: the device cannot choose its subgroup size", logical.ErrInvalid)
	}
	return nil
}

// shape is a pipeline layout and its set layout.
type shape struct {
	set    vk.SetLayout
	layout vk.PipelineLayout
}

type shapeKey struct{ bindings, push int }

func keyOf(l *Layout) shapeKey {
	key := shapeKey{push: l.PushSize()}
	if !l.Addresses {
		key.bindings = l.Buffers
	}
	return key
}

// shapes are the Vulkan layouts of a device, which pipelines share.
type shapes struct {
	d      *logical.Device
	device vk.Device // d's, or one with the same features

	mu  sync.Mutex
	all map[shapeKey]shape
}

// get returns the Vulkan layouts of a layout.
func (s *shapes) get(key shapeKey) (shape, vk.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had, ok := s.all[key]; ok {
		return had, vk.Success
	}
	set, layout, r := vk.CreateLayout(s.device, key.bindings, s.d.Info.Features.PushDescriptor, key.push)
	if r != vk.Success {
		return shape{}, r
	}
	if s.all == nil {
		s.all = make(map[shapeKey]shape)
	}
	made := shape{set, layout}
	s.all[key] = made
	return made, vk.Success
}

func (s *shapes) destroy() {
	for _, made := range s.all {
		vk.DestroyLayout(s.device, made.set, made.layout)
	}
	s.all = nil
}
