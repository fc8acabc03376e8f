package vulkan

import "time"

// Options change how a device is opened. The zero value is right for use.
type Options struct {
	// Validation loads the validation layer with synchronization validation.
	Validation bool
	// OnMessage receives what the validation layer says. It may be called
	// from any goroutine and must not call the device.
	OnMessage func(severity, text string)
	// CacheDir is the folder of the pipeline cache; "" keeps none on disk.
	CacheDir string
	// OnCache is told why the pipeline cache on disk is not used.
	OnCache func(err error)
	// MemoryLimit bounds the bytes taken from the device; 0 means no bound
	// but the device's own.
	MemoryLimit uint64
	// BlockSize is the size of the blocks that buffers are cut from; 0 picks
	// one after the size of the heap.
	BlockSize uint64
	// KeepMemory keeps blocks that nothing uses for the next buffers, for good. Else
	// they go back to the driver after a while, see IdleTime.
	KeepMemory bool
	// After runs a function after a time, for IdleTime; nil is time.AfterFunc.
	After func(time.Duration, func())
	// Watchdog is how long a submission may run before the device counts as
	// lost; 0 means 30 seconds, or 5 minutes on a software device, and a
	// negative time forever. A driver need not notice a kernel that hangs:
	// after a wild write, NVIDIA's reports nothing and waits without end.
	Watchdog time.Duration
	// Queues is how many queues of the device are used, where it has as many; 0 means one.
	// On one queue long dispatches are cut into slices, so that a session that asks for
	// little waits for few milliseconds at most. Several queues gave no more throughput
	// on an H200, and a wait of 8 to 16 ms beside long dispatches in place of 3.
	Queues int
	// Piece is how long a piece of work should run before others have their turn;
	// 0 picks one after the number of queues.
	Piece time.Duration
	// Fault makes failures happen, for tests.
	Fault Fault
}

// Fault has hooks that provoke failures. A nil hook does nothing.
type Fault struct {
	// Alloc is asked before each allocation of a block; true fails it.
	Alloc func(bytes uint64) bool
	// Lost is asked before each submission; true loses the device.
	Lost func() bool
	// Record is asked before each command buffer is made; true fails it for want of
	// memory of the host.
	Record func() bool
	// Refuse is asked before each kernel is compiled, perhaps by many goroutines at
	// once; true has the driver refuse it.
	Refuse func(name string) bool
	// Queues treats the device as if it had so many queues, where that is not 0.
	Queues int
	// NoPushDescriptors uses descriptor sets as if the device had no push
	// descriptors.
	NoPushDescriptors bool
	// StorageRange is the bytes that a binding holds at most, where that is less
	// than what the device says; nil changes nothing.
	StorageRange func() uint64
	// NoAddresses treats the device as one without buffer device addresses.
	NoAddresses bool
	// Unmapped treats memory that is both device-local and host-visible as
	// if it could not be mapped, so that transfers are staged.
	Unmapped bool
	// Uncached treats memory of the device as if the host read it slowly, so
	// that downloads are staged, or redirected.
	Uncached bool
}
