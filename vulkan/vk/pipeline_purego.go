//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

// CreatePipelineCache creates a cache from data that GetPipelineCacheData gave.
func CreatePipelineCache(handle Device, data []byte) (PipelineCache, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	ci := &abi.PipelineCacheCreateInfo{
		SType: abi.TypePipelineCacheCreateInfo, InitialDataSize: uintptr(len(data)), PInitialData: pinnedSlice(&pin, data),
	}
	var c PipelineCache
	r := call(d.CreatePipelineCache, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&c)))
	return c, r
}

// GetPipelineCacheData returns the content of a cache.
func GetPipelineCacheData(handle Device, c PipelineCache) ([]byte, Result) {
	d := handle.get()
	for {
		var n uintptr
		if r := call(d.GetPipelineCacheData, d.handle, uintptr(c), uintptr(unsafe.Pointer(&n)), 0); r != Success || n == 0 {
			return nil, r
		}
		data := make([]byte, n)
		r := call(d.GetPipelineCacheData, d.handle, uintptr(c), uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&data[0])))
		if r == Incomplete { // it grew in between
			continue
		}
		return data[:n], r
	}
}

// MergePipelineCache adds the content of a cache to another one, which nobody else uses meanwhile.
func MergePipelineCache(handle Device, c, from PipelineCache) Result {
	d := handle.get()
	return call(d.MergePipelineCaches, d.handle, uintptr(c), 1, uintptr(unsafe.Pointer(&from)))
}

// DestroyPipelineCache destroys a cache.
func DestroyPipelineCache(handle Device, c PipelineCache) {
	d := handle.get()
	call(d.DestroyPipelineCache, d.handle, uintptr(c), 0)
}

// CreateLayout creates a pipeline layout with storage buffers at bindings 0 to buffers-1 and push bytes
// of push constants. The set layout is 0 where buffers is 0.
func CreateLayout(handle Device, buffers int, pushSets bool, push int) (SetLayout, PipelineLayout, Result) {
	if buffers > MaxBindings {
		return 0, 0, ErrorTooManyObjects
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	var sets []SetLayout
	ci := &abi.PipelineLayoutCreateInfo{SType: abi.TypePipelineLayoutCreateInfo}
	if buffers > 0 {
		s, r := d.createSet(buffers, pushSets)
		if r != Success {
			return 0, 0, r
		}
		sets = append(sets, s)
		ci.SetLayoutCount, ci.PSetLayouts = 1, pinnedSlice(&pin, sets)
	}
	if push > 0 {
		ci.PushConstantRangeCount = 1
		ci.PPushConstantRanges = pinned(&pin, &abi.PushConstantRange{StageFlags: abi.ShaderStageCompute, Size: uint32(push)})
	}
	var l PipelineLayout
	r := call(d.CreatePipelineLayout, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&l)))
	var s SetLayout
	if len(sets) > 0 {
		s = sets[0]
	}
	if r != Success {
		call(d.DestroyDescriptorSetLayout, d.handle, uintptr(s), 0)
		return 0, 0, r
	}
	return s, l, Success
}

func (d *device) createSet(buffers int, pushSets bool) (SetLayout, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	list := make([]abi.DescriptorSetLayoutBinding, buffers)
	for i := range list {
		list[i] = abi.DescriptorSetLayoutBinding{
			Binding: uint32(i), DescriptorType: abi.DescriptorTypeStorageBuffer, DescriptorCount: 1, StageFlags: abi.ShaderStageCompute,
		}
	}
	ci := &abi.DescriptorSetLayoutCreateInfo{
		SType: abi.TypeDescriptorSetLayoutCreateInfo, Flags: bit(pushSets, abi.DescriptorSetLayoutCreatePushDescriptorKHR),
		BindingCount: uint32(buffers), PBindings: pinnedSlice(&pin, list),
	}
	var s SetLayout
	r := call(d.CreateDescriptorSetLayout, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&s)))
	return s, r
}

// DestroyLayout destroys the objects of CreateLayout.
func DestroyLayout(handle Device, s SetLayout, l PipelineLayout) {
	d := handle.get()
	call(d.DestroyPipelineLayout, d.handle, uintptr(l), 0)
	call(d.DestroyDescriptorSetLayout, d.handle, uintptr(s), 0)
}

// CreateComputePipeline compiles a kernel. It may be called from any goroutine.
func CreateComputePipeline(handle Device, p *PipelineInfo) (Pipeline, Result) {
	if len(p.Spec) > MaxSpecs {
		return 0, ErrorTooManyObjects
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	mi := &abi.ShaderModuleCreateInfo{
		SType: abi.TypeShaderModuleCreateInfo, CodeSize: uintptr(len(p.Code) * 4), PCode: pinnedSlice(&pin, p.Code),
	}
	var module uint64
	if r := call(d.CreateShaderModule, d.handle, uintptr(unsafe.Pointer(mi)), 0, uintptr(unsafe.Pointer(&module))); r != Success {
		return 0, r
	}
	ci := &abi.ComputePipelineCreateInfo{
		SType: abi.TypeComputePipelineCreateInfo, Layout: uint64(p.Layout),
		Flags: bit(p.Base, abi.PipelineCreateDispatchBase) | bit(p.CacheOnly, abi.PipelineCreateFailOnCompileRequired),
		Stage: abi.PipelineShaderStageCreateInfo{
			SType: abi.TypePipelineShaderStageCreateInfo, Stage: abi.ShaderStageCompute, Module: module,
			PName: pinned(&pin, (*byte)(cString("main"))), PSpecializationInfo: specialization(&pin, p.Spec),
		},
	}
	if p.Subgroup != 0 {
		ci.Stage.PNext = pinned(&pin, &abi.PipelineShaderStageRequiredSubgroupSizeCreateInfo{
			SType: abi.TypePipelineShaderStageRequiredSubgroupSizeCreateInfo, RequiredSubgroupSize: p.Subgroup,
		})
	}
	var out Pipeline
	r := call(d.CreateComputePipelines, d.handle, uintptr(p.Cache), 1, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&out)))
	call(d.DestroyShaderModule, d.handle, uintptr(module), 0)
	if r != Success {
		return 0, r
	}
	return out, Success
}

// specialization gives the constants 0, 1, 2 … their values.
func specialization(pin *runtime.Pinner, spec []uint32) unsafe.Pointer {
	if len(spec) == 0 {
		return nil
	}
	entries := make([]abi.SpecializationMapEntry, len(spec))
	for i := range entries {
		entries[i] = abi.SpecializationMapEntry{ConstantID: uint32(i), Offset: uint32(4 * i), Size: 4}
	}
	return pinned(pin, &abi.SpecializationInfo{
		MapEntryCount: uint32(len(spec)), PMapEntries: pinnedSlice(pin, entries),
		DataSize: uintptr(4 * len(spec)), PData: pinnedSlice(pin, spec),
	})
}

// DestroyPipeline destroys a pipeline.
func DestroyPipeline(handle Device, p Pipeline) {
	d := handle.get()
	call(d.DestroyPipeline, d.handle, uintptr(p), 0)
}
