package logical

import "time"

// Options change how a device is opened. The zero value suits normal use.
type Options struct {
	// Validation loads the validation layer with synchronization validation.
	Validation bool
	// OnMessage receives the messages of the validation layer. It may be called from any
	// goroutine and must not call the device.
	OnMessage func(severity, text string)
	// CacheDir is the folder of the pipeline cache; "" keeps none on disk.
	CacheDir string
	// OnCache receives the reason when the pipeline cache on disk is not used.
	OnCache func(err error)
	// MemoryLimit bounds the bytes allocated on the device; 0 leaves the bound to the device.
	MemoryLimit uint64
	// BlockSize is the size of the allocations that buffers are cut from; 0 picks one by
	// the size of the heap.
	BlockSize uint64
	// KeepMemory keeps unused blocks until the device is closed. Otherwise they return to
	// the driver after some seconds.
	KeepMemory bool
	// After calls a function after a time; nil is time.AfterFunc. Tests replace it.
	After func(time.Duration, func())
	// Watchdog is how long a submission may run before the device counts as lost; 0 means
	// 30 seconds, or 5 minutes on a software device; a negative time means forever. A driver
	// need not notice a kernel that hangs: after a wild write, NVIDIA's driver reports
	// nothing and waits without end.
	Watchdog time.Duration
	// Queues is how many queues of the device are used, as far as it has them; 0 means one.
	// On one queue, long dispatches are cut into parts, so that a session with little work
	// waits for some milliseconds at most. On an H200, eight queues gave no more throughput,
	// and a wait of 8 to 16 ms beside long dispatches in place of 3.
	Queues int
	// CopyQueues are queues for copies, each by its family and its number there, in place of those that the device is
	// known to have for that. It is for measurements.
	CopyQueues [][2]int
	// Serial has each command begin when those before it are complete, whether it uses their memory or not. It is for
	// measurements.
	Serial bool
	// Piece is how long a submission should run while several streams have work; 0 picks a
	// time by the kind of the device.
	Piece time.Duration
	// Fault makes failures happen, for tests.
	Fault Fault
}

// Fault has hooks that provoke failures. A nil hook does nothing.
type Fault struct {
	// Alloc is called before each allocation of a block; true fails it.
	Alloc func(bytes uint64) bool
	// Lost is called before each submission; true loses the device.
	Lost func() bool
	// Hold is called before batches are submitted to the device; true keeps them waiting.
	Hold func() bool
	// Shared makes a stream that alone has work count as one of several; called for each
	// decision.
	Shared func() bool
	// Record is called before each command buffer is recorded; true fails the recording
	// with an error of host memory.
	Record func() bool
	// Refuse is called for each compiled kernel, from several goroutines at once; true
	// makes the driver refuse the kernel.
	Refuse func(name string) bool
	// PipelinesApart makes the driver appear to need Info.PipelinesApart.
	PipelinesApart bool
	// Queues makes the device appear to have that many queues; 0 changes nothing.
	Queues int
	// CopyQueues makes the device appear to have that many queues that only copy, and one for little work, or none where it
	// is negative; 0 changes nothing.
	CopyQueues int
	// NoPushDescriptors makes the device appear to have no push descriptors, so that
	// descriptor sets are used.
	NoPushDescriptors bool
	// StorageRange lowers the bytes that a binding holds at most; nil changes nothing.
	StorageRange func() uint64
	// NoAddresses makes the device appear to have no buffer device addresses.
	NoAddresses bool
	// Unmapped makes the memory of the device appear to be invisible to the host, so that
	// transfers are staged.
	Unmapped bool
	// NoImport makes the device appear to import no memory of the host.
	NoImport bool
	// Uncached makes the memory of the device appear slow for the host to read, so that
	// downloads are staged.
	Uncached bool
}
