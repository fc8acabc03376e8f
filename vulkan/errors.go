package vulkan

import (
	"errors"

	"nxvk/vulkan/vk"
)

// When opening.
var (
	// ErrNoVulkan means that there is no Vulkan loader to ask.
	ErrNoVulkan = errors.New("no Vulkan on this machine")
	// ErrNoCgo comes with ErrNoVulkan where the program was built without it.
	ErrNoCgo = vk.ErrNoCgo
	// ErrNoDevice means that no device matches the selection.
	ErrNoDevice = errors.New("no such Vulkan device")
)

// On a device.
var (
	// ErrOutOfMemory means that the device, the heap budget or the limit set
	// at Open has no room. Freeing buffers helps.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrBusy comes with ErrOutOfMemory where the device is about to leave memory that
	// is free: to try again later helps.
	ErrBusy = errors.New("the device uses memory that has been freed")
	// ErrTooLarge means a size that this device never has room for.
	ErrTooLarge = errors.New("larger than the device allows")
	// ErrRefused means that the driver does not compile a kernel, for whatever
	// reason. The device goes on.
	ErrRefused = errors.New("the driver does not compile the kernel")
	// ErrDeviceLost means that the driver gave the device up. Everything on
	// it is gone; see [Device.Reopen].
	ErrDeviceLost = errors.New("device lost")
	// ErrClosed means that the device is closed.
	ErrClosed = errors.New("device closed")
	// ErrDiscarded means that the work was taken back before the device had it.
	ErrDiscarded = errors.New("the work was discarded")
	// ErrInvalid means an argument the device cannot take: a range outside
	// a buffer, a grid over the limits, push constants of the wrong size.
	ErrInvalid = errors.New("invalid argument")
)

// errStalled is the cause of a loss that Options.Watchdog declares.
var errStalled = errors.New("a submission does not end")

// errInjected is the cause of a loss that Options.Fault provokes.
var errInjected = errors.New("injected")
