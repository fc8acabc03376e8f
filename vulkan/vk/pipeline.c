//go:build cgo

// pipeline.c makes layouts, compute pipelines and their cache.
#include "vk.h"

int32_t nxvk_create_cache(nxvk_device *d, const void *data, size_t n, uint64_t *out) {
	VkPipelineCacheCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
		.initialDataSize = n,
		.pInitialData = data,
	};
	VkPipelineCache c;
	VkResult r = d->CreatePipelineCache(d->handle, &ci, NULL, &c);
	if (r == VK_SUCCESS) *out = NXVK_U(c);
	return r;
}

int32_t nxvk_cache_data(nxvk_device *d, uint64_t cache, void *data, size_t *n) {
	return d->GetPipelineCacheData(d->handle, NXVK_H(VkPipelineCache, cache), n, data);
}

int32_t nxvk_merge_cache(nxvk_device *d, uint64_t cache, uint64_t from) {
	VkPipelineCache src = NXVK_H(VkPipelineCache, from);
	return d->MergePipelineCaches(d->handle, NXVK_H(VkPipelineCache, cache), 1, &src);
}

void nxvk_destroy_cache(nxvk_device *d, uint64_t cache) {
	d->DestroyPipelineCache(d->handle, NXVK_H(VkPipelineCache, cache), NULL);
}

#define MAX_BINDINGS 32

static int32_t create_set(nxvk_device *d, uint32_t buffers, int push_sets, VkDescriptorSetLayout *out) {
	VkDescriptorSetLayoutBinding b[MAX_BINDINGS];
	for (uint32_t i = 0; i < buffers; i++)
		b[i] = (VkDescriptorSetLayoutBinding){
			.binding = i,
			.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
			.descriptorCount = 1,
			.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
		};
	VkDescriptorSetLayoutCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = buffers,
		.pBindings = b,
		.flags = push_sets ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
	};
	return d->CreateDescriptorSetLayout(d->handle, &ci, NULL, out);
}

int32_t nxvk_create_layout(
	nxvk_device *d, uint32_t buffers, int push_sets, uint32_t push, uint64_t *set, uint64_t *layout) {
	if (buffers > MAX_BINDINGS) return VK_ERROR_TOO_MANY_OBJECTS;
	VkDescriptorSetLayout s = VK_NULL_HANDLE;
	VkResult r;
	if (buffers && (r = create_set(d, buffers, push_sets, &s)) != VK_SUCCESS) return r;
	VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push};
	VkPipelineLayoutCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = s ? 1 : 0,
		.pSetLayouts = &s,
		.pushConstantRangeCount = push ? 1 : 0,
		.pPushConstantRanges = &range,
	};
	VkPipelineLayout l;
	r = d->CreatePipelineLayout(d->handle, &ci, NULL, &l);
	if (r != VK_SUCCESS) {
		d->DestroyDescriptorSetLayout(d->handle, s, NULL);
		return r;
	}
	*set = NXVK_U(s);
	*layout = NXVK_U(l);
	return VK_SUCCESS;
}

void nxvk_destroy_layout(nxvk_device *d, uint64_t set, uint64_t layout) {
	d->DestroyPipelineLayout(d->handle, NXVK_H(VkPipelineLayout, layout), NULL);
	d->DestroyDescriptorSetLayout(d->handle, NXVK_H(VkDescriptorSetLayout, set), NULL);
}

#define MAX_SPECS 64

int32_t nxvk_create_pipeline(nxvk_device *d, const uint32_t *code, size_t words, uint64_t layout, uint64_t cache,
	const uint32_t *spec, uint32_t specs, uint32_t subgroup, int base, int cache_only, uint64_t *out) {
	if (specs > MAX_SPECS) return VK_ERROR_TOO_MANY_OBJECTS;
	VkShaderModuleCreateInfo mi = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = words * 4,
		.pCode = code,
	};
	VkShaderModule module;
	VkResult r = d->CreateShaderModule(d->handle, &mi, NULL, &module);
	if (r != VK_SUCCESS) return r;
	VkSpecializationMapEntry entries[MAX_SPECS];
	for (uint32_t i = 0; i < specs; i++) entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
	VkSpecializationInfo si = {specs, entries, specs * 4, spec};
	VkPipelineShaderStageRequiredSubgroupSizeCreateInfo sg = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
		.requiredSubgroupSize = subgroup,
	};
	VkComputePipelineCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.flags = (base ? VK_PIPELINE_CREATE_DISPATCH_BASE_BIT : 0) |
			(cache_only ? VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT : 0),
		.stage =
			{
				.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
				.pNext = subgroup ? &sg : NULL,
				.stage = VK_SHADER_STAGE_COMPUTE_BIT,
				.module = module,
				.pName = "main",
				.pSpecializationInfo = specs ? &si : NULL,
			},
		.layout = NXVK_H(VkPipelineLayout, layout),
	};
	VkPipeline p;
	r = d->CreateComputePipelines(d->handle, NXVK_H(VkPipelineCache, cache), 1, &ci, NULL, &p);
	d->DestroyShaderModule(d->handle, module, NULL);
	if (r == VK_SUCCESS) *out = NXVK_U(p);
	return r;
}

void nxvk_destroy_pipeline(nxvk_device *d, uint64_t pipeline) {
	d->DestroyPipeline(d->handle, NXVK_H(VkPipeline, pipeline), NULL);
}
