//go:build cgo

package vk

// #include "vk.h"
import "C"

import "unsafe"

// CreatePipelineCache creates a cache from data that GetPipelineCacheData gave.
func CreatePipelineCache(d Device, data []byte) (PipelineCache, Result) {
	var c C.uint64_t
	r := Result(C.nxvk_create_cache(d.c(), unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), &c))
	return PipelineCache(c), r
}

// GetPipelineCacheData returns the content of a cache.
func GetPipelineCacheData(d Device, c PipelineCache) ([]byte, Result) {
	for {
		var n C.size_t
		if r := Result(C.nxvk_cache_data(d.c(), C.uint64_t(c), nil, &n)); r != Success || n == 0 {
			return nil, r
		}
		data := make([]byte, n)
		r := Result(C.nxvk_cache_data(d.c(), C.uint64_t(c), unsafe.Pointer(&data[0]), &n))
		if r == Incomplete { // it grew in between
			continue
		}
		return data[:n], r
	}
}

// MergePipelineCache adds the content of a cache to another one, which nobody else uses meanwhile.
func MergePipelineCache(d Device, c, from PipelineCache) Result {
	return Result(C.nxvk_merge_cache(d.c(), C.uint64_t(c), C.uint64_t(from)))
}

// DestroyPipelineCache destroys a cache.
func DestroyPipelineCache(d Device, c PipelineCache) { C.nxvk_destroy_cache(d.c(), C.uint64_t(c)) }

// CreateLayout creates a pipeline layout with storage buffers at bindings 0 to buffers-1 and push bytes
// of push constants. The set layout is 0 where buffers is 0.
func CreateLayout(d Device, buffers int, pushSets bool, push int) (SetLayout, PipelineLayout, Result) {
	var s, l C.uint64_t
	r := Result(C.nxvk_create_layout(d.c(), C.uint32_t(buffers), flag(pushSets), C.uint32_t(push), &s, &l))
	return SetLayout(s), PipelineLayout(l), r
}

// DestroyLayout destroys the objects of CreateLayout.
func DestroyLayout(d Device, s SetLayout, l PipelineLayout) {
	C.nxvk_destroy_layout(d.c(), C.uint64_t(s), C.uint64_t(l))
}

// CreateComputePipeline compiles a kernel. It may be called from any goroutine.
func CreateComputePipeline(d Device, p *PipelineInfo) (Pipeline, Result) {
	var out C.uint64_t
	r := Result(C.nxvk_create_pipeline(d.c(),
		(*C.uint32_t)(unsafe.SliceData(p.Code)), C.size_t(len(p.Code)), C.uint64_t(p.Layout), C.uint64_t(p.Cache),
		(*C.uint32_t)(unsafe.SliceData(p.Spec)), C.uint32_t(len(p.Spec)), C.uint32_t(p.Subgroup), flag(p.Base), flag(p.CacheOnly), &out))
	return Pipeline(out), r
}

// DestroyPipeline destroys a pipeline.
func DestroyPipeline(d Device, p Pipeline) { C.nxvk_destroy_pipeline(d.c(), C.uint64_t(p)) }
