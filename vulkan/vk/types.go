package vk

import "errors"

// Handles are opaque. Instance, Device and Recorder point to structures of
// this package; the others are Vulkan's own handles.
type (
	Instance       uintptr
	PhysicalDevice uint64
	Device         uintptr
	Recorder       uintptr // a command buffer with its pools
	Buffer         uint64
	Memory         uint64
	PipelineCache  uint64
	SetLayout      uint64
	PipelineLayout uint64
	Pipeline       uint64
	Semaphore      uint64
)

// ErrNotBuilt means that the program was built without Vulkan.
var ErrNotBuilt = errors.New("this program was built without Vulkan")

// Bits of [Info.Features].
const (
	Float64 uint32 = 1 << iota
	Int64
	Int16
	Int8
	Float16
	Storage16
	Storage8
	Address
	Timeline
	ScalarLayout
	MemoryModel
	AtomicInt64
	PushDescriptor
	SubgroupSize
	MemoryBudget
	AtomicFloat
	Timestamps
	Preserve32
	Preserve64
	RoundEven32
	RoundEven64
	Denorm32
	Denorm64
	Matrix     // cooperative matrices
	MatrixBF16 // and those of bf16
	HostImport // memory of the host that the process has
	CacheOnly  // pipelines may be asked for without compiling
)

// VkPhysicalDeviceType.
const (
	TypeOther = iota
	TypeIntegrated
	TypeDiscrete
	TypeVirtual
	TypeCPU
)

// VkMemoryPropertyFlagBits and VkMemoryHeapFlagBits.
const (
	DeviceLocal  uint32 = 1
	HostVisible  uint32 = 2
	HostCoherent uint32 = 4
	HostCached   uint32 = 8

	HeapDeviceLocal uint32 = 1
)

// VersionMinimum is the API version that a device must have: timeline semaphores are core since 1.2.
const VersionMinimum = 1<<22 | 2<<12

// MaxQueries is the largest number of timestamps of a command buffer. MaxBindings and MaxSpecs are the
// largest numbers of bindings and specialisation constants of a pipeline; a device may take fewer
// bindings.
const (
	MaxQueries  = 64
	MaxBindings = 32
	MaxSpecs    = 64
)

// MemoryType is one row of VkPhysicalDeviceMemoryProperties.
type MemoryType struct {
	Flags uint32
	Heap  int
}

// MemoryHeap is one heap of VkPhysicalDeviceMemoryProperties.
type MemoryHeap struct {
	Size  uint64
	Flags uint32
}

// Component types of a [MatrixShape], by their numbers in VkComponentTypeKHR, and the scope
// of a subgroup.
const (
	ComponentF16  = 0
	ComponentF32  = 1
	ComponentS8   = 3
	ComponentS32  = 5
	ComponentU8   = 7
	ComponentU32  = 9
	ComponentBF16 = 1000141000

	ScopeSubgroup = 3
)

// MatrixShape is one row of VkCooperativeMatrixPropertiesKHR.
type MatrixShape struct {
	M, N, K, A, B, C, Result, Scope uint32
	Saturating                      bool
}

// CopyQueue is a queue for copies: one of a family.
type CopyQueue struct{ Family, Index uint32 }

// Info has the properties, features and limits of a physical device.
type Info struct {
	Name, Driver, DriverInfo               string
	UUID, CacheUUID                        [16]byte
	Kind, Vendor, Device                   uint32
	API, DriverVersion, DriverID           uint32
	Features                               uint32
	Family                                 uint32 // of the queues; ^0 when none computes
	Queues                                 uint32 // that the family has, or that a device gets
	MaxPush, MaxBindings                   uint32
	Shared, MaxInvocations                 uint32
	MaxSize, MaxCount                      [3]uint32
	Subgroup, SubgroupMin, SubgroupMax     uint32
	SubgroupOps                            uint32
	MaxRange, MaxAllocation, OffsetAligned uint64
	ImportAligned                          uint64 // of memory of the host that is imported, and of its size
	TimestampPeriod                        float32
	Types                                  []MemoryType
	Heaps                                  []MemoryHeap
	Matrices                               []MatrixShape
	CopyQueues                             []CopyQueue // queues for copies alone, or those that a device gets
}

// Ops of a [Cmd].
const (
	OpDispatch uint32 = 1 + iota
	OpCopy
	OpFill
	OpTimestamp
	OpQueryResult
	OpHostBarrier
)

// Cmd is one recorded command; nxvk_cmd in vk.h, for builds with cgo, has the same layout.
//
//	dispatch      A pipeline, B layout, C set layout where descriptors cannot be
//	              pushed, X Y Z workgroups from D, D>>32 and E on, push and bind
//	              ranges
//	copy          A source, B destination, C and D their offsets, E bytes
//	fill          B destination, D offset, E bytes, X the word
//	timestamp     X query
//	query result  X query, B destination, D offset of its 8 bytes
//	host barrier  makes device writes visible to the host
type Cmd struct {
	Op, Barrier   uint32 // a non-zero Barrier orders the command after all before it
	A, B          uint64
	C, D, E       uint64
	X, Y, Z       uint32
	PushAt, PushN uint32
	BindAt, BindN uint32
	_             uint32
}

// MaxQueues and MaxCopyQueues are the largest numbers of queues of a device that compute, and that only copy.
const (
	MaxQueues     = 8
	MaxCopyQueues = 4
	allQueues     = MaxQueues + MaxCopyQueues
)

// Point is a value of a timeline.
type Point struct {
	Semaphore Semaphore
	Value     uint64
}

// Bind is one storage buffer binding.
type Bind struct{ Buffer, Offset, Range uint64 }

// PipelineInfo describes a compute pipeline with the entry point "main".
type PipelineInfo struct {
	Code     []uint32
	Layout   PipelineLayout
	Cache    PipelineCache
	Spec     []uint32 // specialisation constants 0, 1, 2 …
	Subgroup uint32   // required subgroup size, or 0
	Base     bool     // dispatches may begin at another workgroup than 0
	// CacheOnly, a feature, has the driver compile nothing: the result is CompileRequired where the cache has no code.
	CacheOnly bool
}

// Message receives the messages of the validation layer. It may be called from any thread during any
// call, and must not call this package.
type Message func(severity, text string)

// Requirements of a buffer: bytes, and the memory types that may hold it.
type Requirements struct {
	Size  uint64
	Types uint32
}
