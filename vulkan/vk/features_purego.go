//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

// Extensions whose features or properties are read.
const (
	extPushDescriptor = "VK_KHR_push_descriptor"
	extMemoryBudget   = "VK_EXT_memory_budget"
	extAtomicFloat    = "VK_EXT_shader_atomic_float"
	extMatrix         = "VK_KHR_cooperative_matrix"
	extBfloat16       = "VK_KHR_shader_bfloat16"
	extSubgroupSize   = "VK_EXT_subgroup_size_control"
	extHostImport     = "VK_EXT_external_memory_host"
	extCacheControl   = "VK_EXT_pipeline_creation_cache_control"
)

// features is the chain of feature structures, linked as far as the device knows them. It is
// filled by a query, or enables the features of a device.
type features struct {
	core     abi.PhysicalDeviceFeatures2
	v11      abi.PhysicalDeviceVulkan11Features
	v12      abi.PhysicalDeviceVulkan12Features
	subgroup abi.PhysicalDeviceSubgroupSizeControlFeatures
	cache    abi.PhysicalDevicePipelineCreationCacheControlFeatures
	atomics  abi.PhysicalDeviceShaderAtomicFloatFeaturesEXT
	matrix   abi.PhysicalDeviceCooperativeMatrixFeaturesKHR
	bf16     abi.PhysicalDeviceShaderBfloat16FeaturesKHR
}

// newFeatures returns a chain without features, pinned.
func newFeatures(pin *runtime.Pinner, api uint32, list []abi.ExtensionProperties) *features {
	f := &features{}
	pin.Pin(f)
	f.core.SType = abi.TypePhysicalDeviceFeatures2
	f.v11.SType = abi.TypePhysicalDeviceVulkan11Features
	f.v12.SType = abi.TypePhysicalDeviceVulkan12Features
	f.subgroup.SType = abi.TypePhysicalDeviceSubgroupSizeControlFeatures
	f.cache.SType = abi.TypePhysicalDevicePipelineCreationCacheControlFeatures
	f.atomics.SType = abi.TypePhysicalDeviceShaderAtomicFloatFeaturesEXT
	f.matrix.SType = abi.TypePhysicalDeviceCooperativeMatrixFeaturesKHR
	f.bf16.SType = abi.TypePhysicalDeviceShaderBfloat16FeaturesKHR
	next := &f.core.PNext
	for _, link := range []struct {
		known bool
		at    unsafe.Pointer
		next  *unsafe.Pointer
	}{
		{api >= abi.Version12, unsafe.Pointer(&f.v11), &f.v11.PNext},
		{api >= abi.Version12, unsafe.Pointer(&f.v12), &f.v12.PNext},
		{api >= abi.Version13 || has(list, extSubgroupSize), unsafe.Pointer(&f.subgroup), &f.subgroup.PNext},
		{api >= abi.Version13 || has(list, extCacheControl), unsafe.Pointer(&f.cache), &f.cache.PNext},
		{has(list, extAtomicFloat), unsafe.Pointer(&f.atomics), &f.atomics.PNext},
		{has(list, extMatrix), unsafe.Pointer(&f.matrix), &f.matrix.PNext},
		{has(list, extBfloat16), unsafe.Pointer(&f.bf16), &f.bf16.PNext},
	} {
		if link.known {
			*next, next = link.at, link.next
		}
	}
	return f
}

// members lists the members of the chain that stand for each feature; it has a feature that has
// all of them.
func (f *features) members() map[uint32][]*uint32 {
	c, v := &f.core.Features, &f.v12
	return map[uint32][]*uint32{
		Float64:      {&c.ShaderFloat64},
		Int64:        {&c.ShaderInt64},
		Int16:        {&c.ShaderInt16},
		Int8:         {&v.ShaderInt8},
		Float16:      {&v.ShaderFloat16},
		Storage16:    {&f.v11.StorageBuffer16BitAccess},
		Storage8:     {&v.StorageBuffer8BitAccess},
		Address:      {&v.BufferDeviceAddress},
		Timeline:     {&v.TimelineSemaphore},
		ScalarLayout: {&v.ScalarBlockLayout},
		MemoryModel:  {&v.VulkanMemoryModel, &v.VulkanMemoryModelDeviceScope},
		AtomicInt64:  {&v.ShaderBufferInt64Atomics},
		SubgroupSize: {&f.subgroup.SubgroupSizeControl},
		CacheOnly:    {&f.cache.PipelineCreationCacheControl},
		AtomicFloat:  {&f.atomics.ShaderBufferFloat32AtomicAdd, &f.atomics.ShaderBufferFloat32Atomics},
		Matrix:       {&f.matrix.CooperativeMatrix},
		MatrixBF16:   {&f.bf16.ShaderBFloat16Type, &f.bf16.ShaderBFloat16CooperativeMatrix},
	}
}

// bits returns the features that a query found, and those that extensions are.
func (f *features) bits(list []abi.ExtensionProperties) uint32 {
	b := bit(has(list, extPushDescriptor), PushDescriptor) | bit(has(list, extMemoryBudget), MemoryBudget) |
		bit(has(list, extHostImport), HostImport)
	for feature, members := range f.members() {
		all := true
		for _, m := range members {
			all = all && *m != 0
		}
		b |= bit(all, feature)
	}
	return b
}

func (f *features) enable(b uint32) {
	for feature, members := range f.members() {
		for _, m := range members {
			*m = bit(b&feature != 0, 1)
		}
	}
}

// bit returns b where the condition holds.
func bit(condition bool, b uint32) uint32 {
	if condition {
		return b
	}
	return 0
}
