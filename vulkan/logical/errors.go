package logical

import "errors"

var (
	// ErrOutOfMemory means that the device, the budget of the heap or the limit given to
	// Open has no room. Freeing buffers helps.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrBusy comes with ErrOutOfMemory where running work still uses memory that has been
	// freed. Trying again later helps.
	ErrBusy = errors.New("the device uses memory that has been freed")
	// ErrTooLarge means a size for which this device never has room.
	ErrTooLarge = errors.New("larger than the device allows")
	// ErrRefused means that the driver cannot compile a kernel. The device goes on.
	ErrRefused = errors.New("the driver does not compile the kernel")
	// ErrNotCached means that the pipeline cache may not have a kernel.
	ErrNotCached = errors.New("the driver may have to compile the kernel")
	// ErrDeviceLost means that the device no longer works and that its memory is gone. A
	// device that is opened again works.
	ErrDeviceLost = errors.New("device lost")
	// ErrClosed means that the device is closed.
	ErrClosed = errors.New("device closed")
	// ErrDiscarded means that the work was cancelled before it reached the device.
	ErrDiscarded = errors.New("the work was discarded")
	// ErrInvalid means an argument that the device cannot take: a range outside a buffer,
	// a grid over the limits, push constants of the wrong size.
	ErrInvalid = errors.New("invalid argument")
)

var (
	// errStalled is the cause of a loss that the watchdog declares.
	errStalled = errors.New("a submission does not end")
	// ErrInjected is the cause of a failure that Options.Fault provokes.
	ErrInjected = errors.New("injected")
)
