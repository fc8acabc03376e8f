package vulkan

import (
	"nxvk/vulkan/adapter"
	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Errors of opening a device.
var (
	// ErrNoVulkan means that the machine has no Vulkan loader.
	ErrNoVulkan = adapter.ErrNoVulkan
	// ErrNotBuilt comes with ErrNoVulkan where the program was built without Vulkan.
	ErrNotBuilt = vk.ErrNotBuilt
	// ErrNoDevice means that no device matches the selection.
	ErrNoDevice = adapter.ErrNoDevice
)

// Errors of a device.
var (
	// ErrOutOfMemory means that the device, the budget of the heap or the limit given to
	// Open has no room. Freeing buffers helps.
	ErrOutOfMemory = logical.ErrOutOfMemory
	// ErrBusy comes with ErrOutOfMemory where running work still uses memory that has been
	// freed. Trying again later helps.
	ErrBusy = logical.ErrBusy
	// ErrTooLarge means a size for which this device never has room.
	ErrTooLarge = logical.ErrTooLarge
	// ErrRefused means that the driver cannot compile a kernel. The device goes on.
	ErrRefused = logical.ErrRefused
	// ErrNotCached means that the pipeline cache may not have a kernel.
	ErrNotCached = logical.ErrNotCached
	// ErrDeviceLost means that the device no longer works and that its memory is gone; see
	// [Device.Reopen].
	ErrDeviceLost = logical.ErrDeviceLost
	// ErrClosed means that the device is closed.
	ErrClosed = logical.ErrClosed
	// ErrDiscarded means that the work was cancelled before it reached the device.
	ErrDiscarded = logical.ErrDiscarded
	// ErrInvalid means an argument that the device cannot take: a range outside a buffer,
	// a grid over the limits, push constants of the wrong size.
	ErrInvalid = logical.ErrInvalid
)
