package adapter

import (
	"fmt"

	"nxvk/vulkan/vk"
)

// Kind is the kind of a device.
type Kind int

// Kinds, in the order of preference.
const (
	Discrete Kind = iota
	Integrated
	Virtual
	CPU
	Other
)

func (k Kind) String() string {
	return [...]string{"discrete", "integrated", "virtual", "cpu", "other"}[k]
}

// Version is a Vulkan API version.
type Version uint32

func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff)
}

// driverNVIDIA is VK_DRIVER_ID_NVIDIA_PROPRIETARY.
const driverNVIDIA = 4

// Info describes a device. It does not change while the process runs.
type Info struct {
	Index      int // in List, which is in the order of preference
	Name       string
	UUID       string // 8-4-4-4-12 hexadecimal digits
	Driver     string
	DriverInfo string
	Kind       Kind
	VendorID   uint32
	DeviceID   uint32
	APIVersion Version
	Queues     int    // queues that compute; of an open device, those that are used
	CopyQueues int    // queues that only copy, beside running kernels; of an open device, those that are used
	Memory     uint64 // bytes of the largest device-local heap
	Features   Features
	Limits     Limits
	// Matrices are the shapes of cooperative matrices of subgroups, for products whose sums are
	// f32 or integers of 32 bits.
	Matrices []Matrix
	// Bindings is true where kernels run faster with storage buffer bindings than with
	// addresses, as on software devices.
	Bindings bool
	// PipelinesApart is true where the driver runs wrong code of a pipeline that it makes during a submission. Kernels are
	// then compiled by a second device, and pipelines made of its code between submissions.
	PipelinesApart bool
}

// Component is the element type of the operands of a cooperative matrix.
type Component int

// Components.
const (
	ComponentF16 Component = iota
	ComponentBF16
	ComponentS8
	ComponentU8
)

// Matrix is a shape of cooperative matrices: one instruction adds the product of M×K and K×N
// elements to M×N sums.
type Matrix struct {
	Component Component
	M, N, K   int
}

// Features are the features that kernels may use. All features of a device are enabled.
type Features struct {
	Float64, Float16, AtomicFloat    bool
	Int64, Int16, Int8, AtomicInt64  bool
	Storage16, Storage8              bool
	BufferDeviceAddress              bool
	TimelineSemaphore                bool
	ScalarLayout                     bool
	MemoryModel                      bool
	PushDescriptor                   bool
	SubgroupSize, SubgroupArithmetic bool // SubgroupSize: Layout.SubgroupSize may be set
	SubgroupBallot                   bool
	MemoryBudget                     bool
	HostImport                       bool // memory of the process can be imported
	Timestamps                       bool
	// Preserve means that kernels may ask for signed zeros, infinities and NaNs to be kept,
	// RoundEven for rounding to even, and Denorm for subnormals to be kept; each for its
	// width alone.
	Preserve32, Preserve64   bool
	RoundEven32, RoundEven64 bool
	Denorm32, Denorm64       bool
}

// Limits are the limits of kernels and buffers. DeviceMemoryMapped and Unified are set for open
// devices only.
type Limits struct {
	MaxPush                       int // bytes of push constants
	SharedMemory                  int // bytes a workgroup
	MaxWorkgroupInvocations       int
	MaxWorkgroupSize              [3]uint32
	MaxWorkgroupCount             [3]uint32
	MaxStorageRange               uint64 // bytes of one binding
	MaxAllocation                 uint64 // bytes of one buffer
	ImportAlignment               int    // of memory that is imported, and of its size
	OffsetAlignment               int    // of Arg.Offset with bindings
	Subgroup                      int
	SubgroupMin, SubgroupMax      int
	TimestampPeriod               float64 // nanoseconds a tick
	DeviceMemoryMapped, Unified   bool    // the host writes device memory; it also reads it at full speed
	MaxBindings, MaxSpecConstants int
}

var kinds = map[uint32]Kind{
	vk.TypeDiscrete: Discrete, vk.TypeIntegrated: Integrated, vk.TypeVirtual: Virtual, vk.TypeCPU: CPU,
}

// VK_SUBGROUP_FEATURE_ARITHMETIC_BIT and VK_SUBGROUP_FEATURE_BALLOT_BIT.
const (
	subgroupArithmetic = 4
	subgroupBallot     = 8
)

func newInfo(v *vk.Info) Info {
	kind, ok := kinds[v.Kind]
	if !ok {
		kind = Other
	}
	u := v.UUID
	i := Info{
		Name: v.Name, Driver: v.Driver, DriverInfo: v.DriverInfo, Kind: kind,
		UUID:   fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]),
		Queues: int(min(v.Queues, vk.MaxQueues)), CopyQueues: len(v.CopyQueues), VendorID: v.Vendor, DeviceID: v.Device, APIVersion: Version(v.API),
		Features: newFeatures(v), Limits: newLimits(v), Matrices: newMatrices(v), Bindings: kind == CPU, PipelinesApart: v.DriverID == driverNVIDIA,
	}
	if !i.Features.BufferDeviceAddress {
		i.Bindings = true
	}
	for _, h := range v.Heaps {
		if h.Flags&vk.HeapDeviceLocal != 0 {
			i.Memory = max(i.Memory, h.Size)
		}
	}
	return i
}

func newFeatures(v *vk.Info) Features {
	has := func(bit uint32) bool { return v.Features&bit != 0 }
	return Features{
		Float64: has(vk.Float64), Float16: has(vk.Float16), AtomicFloat: has(vk.AtomicFloat),
		Int64: has(vk.Int64), Int16: has(vk.Int16), Int8: has(vk.Int8), AtomicInt64: has(vk.AtomicInt64),
		Storage16: has(vk.Storage16), Storage8: has(vk.Storage8),
		BufferDeviceAddress: has(vk.Address), TimelineSemaphore: has(vk.Timeline),
		ScalarLayout: has(vk.ScalarLayout), MemoryModel: has(vk.MemoryModel),
		PushDescriptor: has(vk.PushDescriptor), SubgroupSize: has(vk.SubgroupSize),
		SubgroupArithmetic: v.SubgroupOps&subgroupArithmetic != 0,
		SubgroupBallot:     v.SubgroupOps&subgroupBallot != 0,
		MemoryBudget:       has(vk.MemoryBudget), HostImport: has(vk.HostImport),
		Timestamps: has(vk.Timestamps),
		Preserve32: has(vk.Preserve32), Preserve64: has(vk.Preserve64),
		RoundEven32: has(vk.RoundEven32), RoundEven64: has(vk.RoundEven64),
		Denorm32: has(vk.Denorm32), Denorm64: has(vk.Denorm64),
	}
}

// newMatrices keeps the shapes whose operands have one type and whose sums are wide.
func newMatrices(v *vk.Info) []Matrix {
	of := map[uint32]struct {
		component Component
		sum       uint32
		feature   uint32
	}{
		vk.ComponentF16:  {ComponentF16, vk.ComponentF32, vk.Matrix | vk.MemoryModel | vk.Float16},
		vk.ComponentBF16: {ComponentBF16, vk.ComponentF32, vk.Matrix | vk.MemoryModel | vk.MatrixBF16},
		vk.ComponentS8:   {ComponentS8, vk.ComponentS32, vk.Matrix | vk.MemoryModel | vk.Int8},
		vk.ComponentU8:   {ComponentU8, vk.ComponentU32, vk.Matrix | vk.MemoryModel | vk.Int8},
	}
	var list []Matrix
	for _, m := range v.Matrices {
		c, ok := of[m.A]
		if ok && m.B == m.A && m.C == c.sum && m.Result == c.sum && m.Scope == vk.ScopeSubgroup && !m.Saturating &&
			v.Features&c.feature == c.feature {
			list = append(list, Matrix{Component: c.component, M: int(m.M), N: int(m.N), K: int(m.K)})
		}
	}
	return list
}

func newLimits(v *vk.Info) Limits {
	return Limits{
		MaxPush: int(v.MaxPush), SharedMemory: int(v.Shared),
		MaxWorkgroupInvocations: int(v.MaxInvocations),
		MaxWorkgroupSize:        v.MaxSize, MaxWorkgroupCount: v.MaxCount,
		MaxStorageRange: v.MaxRange, MaxAllocation: v.MaxAllocation, OffsetAlignment: int(v.OffsetAligned),
		Subgroup: int(v.Subgroup), SubgroupMin: int(v.SubgroupMin), SubgroupMax: int(v.SubgroupMax),
		TimestampPeriod: float64(v.TimestampPeriod), ImportAlignment: int(v.ImportAligned),
		MaxBindings: int(min(v.MaxBindings, vk.MaxBindings)), MaxSpecConstants: vk.MaxSpecs,
	}
}
