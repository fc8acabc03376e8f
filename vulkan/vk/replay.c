//go:build cgo

// replay.c turns a batch of recorded commands into a command buffer.
#include <stdlib.h>
#include "vk.h"

int32_t nxvk_create_recorder(nxvk_device *d, uint32_t copies, nxvk_recorder **out) {
	nxvk_recorder *r = calloc(1, sizeof *r);
	r->copies = copies && copies <= d->copying;
	VkCommandPoolCreateInfo pi = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
		.queueFamilyIndex = r->copies ? d->copy_family[copies - 1] : d->family,
	};
	VkResult res = d->CreateCommandPool(d->handle, &pi, NULL, &r->pool);
	if (res != VK_SUCCESS) {
		free(r);
		return res;
	}
	VkCommandBufferAllocateInfo ai = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = r->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1,
	};
	res = d->AllocateCommandBuffers(d->handle, &ai, &r->buffer);
	if (res != VK_SUCCESS) {
		nxvk_destroy_recorder(d, r);
		return res;
	}
	*out = r;
	return VK_SUCCESS;
}

void nxvk_destroy_recorder(nxvk_device *d, nxvk_recorder *r) {
	for (uint32_t i = 0; i < r->sets_len; i++) d->DestroyDescriptorPool(d->handle, r->sets[i], NULL);
	d->DestroyQueryPool(d->handle, r->queries, NULL);
	d->DestroyCommandPool(d->handle, r->pool, NULL);
	free(r->sets);
	free(r);
}

// Compute and transfer stages together cost what compute alone does; wider
// scopes (ALL_COMMANDS, MEMORY_*) cost more than twice as much on NVIDIA.
static void barrier(nxvk_device *d, nxvk_recorder *r) {
	VkPipelineStageFlags s = VK_PIPELINE_STAGE_TRANSFER_BIT | (r->copies ? 0 : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
	VkAccessFlags reads = r->copies ? 0 : VK_ACCESS_SHADER_READ_BIT,
				  writes = r->copies ? 0 : VK_ACCESS_SHADER_WRITE_BIT;
	VkMemoryBarrier b = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = writes | VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = reads | writes | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
	};
	d->CmdPipelineBarrier(r->buffer, s, s, 0, 1, &b, 0, NULL, 0, NULL);
}

static void host_barrier(nxvk_device *d, nxvk_recorder *r) {
	VkPipelineStageFlags s = VK_PIPELINE_STAGE_TRANSFER_BIT | (r->copies ? 0 : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
	VkMemoryBarrier b = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = (r->copies ? 0 : VK_ACCESS_SHADER_WRITE_BIT) | VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_HOST_READ_BIT,
	};
	d->CmdPipelineBarrier(r->buffer, s, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &b, 0, NULL, 0, NULL);
}

#define MAX_BINDINGS 32
#define SETS_A_POOL 512

static int32_t grow_sets(nxvk_device *d, nxvk_recorder *r) {
	VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SETS_A_POOL * 8};
	VkDescriptorPoolCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = SETS_A_POOL,
		.poolSizeCount = 1,
		.pPoolSizes = &size,
	};
	VkDescriptorPool *grown = realloc(r->sets, (r->sets_len + 1) * sizeof *grown);
	if (!grown) return VK_ERROR_OUT_OF_HOST_MEMORY;
	r->sets = grown;
	VkResult res = d->CreateDescriptorPool(d->handle, &ci, NULL, &r->sets[r->sets_len]);
	if (res == VK_SUCCESS) r->sets_len++;
	return res;
}

static int32_t next_set(nxvk_device *d, nxvk_recorder *r, VkDescriptorSetLayout layout, VkDescriptorSet *out) {
	for (int fresh = 0;;) {
		if (r->sets_used == r->sets_len) {
			int32_t res = grow_sets(d, r);
			if (res != VK_SUCCESS) return res;
			fresh = 1;
		}
		VkDescriptorSetAllocateInfo ai = {
			.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
			.descriptorPool = r->sets[r->sets_used],
			.descriptorSetCount = 1,
			.pSetLayouts = &layout,
		};
		VkResult res = d->AllocateDescriptorSets(d->handle, &ai, out);
		if (fresh || (res != VK_ERROR_OUT_OF_POOL_MEMORY && res != VK_ERROR_FRAGMENTED_POOL)) return res;
		r->sets_used++;
	}
}

// bind_buffers pushes descriptors, or on devices without push descriptors
// (set is then the layout to allocate with) takes a set from the recorder.
static int32_t bind_buffers(nxvk_device *d, nxvk_recorder *r, const nxvk_cmd *c, const nxvk_bind *binds) {
	VkDescriptorBufferInfo info[MAX_BINDINGS];
	VkWriteDescriptorSet w[MAX_BINDINGS];
	VkDescriptorSet set = VK_NULL_HANDLE;
	if (c->c) {
		int32_t res = next_set(d, r, NXVK_H(VkDescriptorSetLayout, c->c), &set);
		if (res != VK_SUCCESS) return res;
	}
	for (uint32_t i = 0; i < c->bind_n; i++) {
		const nxvk_bind *b = &binds[c->bind_at + i];
		info[i] = (VkDescriptorBufferInfo){NXVK_H(VkBuffer, b->buffer), b->offset, b->range};
		w[i] = (VkWriteDescriptorSet){
			.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
			.dstSet = set,
			.dstBinding = i,
			.descriptorCount = 1,
			.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
			.pBufferInfo = &info[i],
		};
	}
	VkPipelineLayout layout = NXVK_H(VkPipelineLayout, c->b);
	if (!set) {
		d->CmdPushDescriptorSetKHR(r->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, c->bind_n, w);
		return VK_SUCCESS;
	}
	d->UpdateDescriptorSets(d->handle, c->bind_n, w, 0, NULL);
	d->CmdBindDescriptorSets(r->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
	return VK_SUCCESS;
}

// query_result writes a timestamp's 8 bytes into a buffer.
static void query_result(nxvk_device *d, nxvk_recorder *r, const nxvk_cmd *c) {
	d->CmdCopyQueryPoolResults(r->buffer, r->queries, c->x, 1, NXVK_H(VkBuffer, c->b), c->d, 8,
		VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
}

static int32_t record(
	nxvk_device *d, nxvk_recorder *r, const nxvk_cmd *c, uint64_t *bound, const uint8_t *push, const nxvk_bind *binds) {
	VkCommandBuffer cb = r->buffer;
	if (c->barrier) barrier(d, r);
	switch (c->op) {
	case NXVK_DISPATCH: {
		if (*bound != c->a) {
			d->CmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, NXVK_H(VkPipeline, c->a));
			*bound = c->a;
		}
		int32_t res = c->bind_n ? bind_buffers(d, r, c, binds) : VK_SUCCESS;
		if (res != VK_SUCCESS) return res;
		if (c->push_n)
			d->CmdPushConstants(
				cb, NXVK_H(VkPipelineLayout, c->b), VK_SHADER_STAGE_COMPUTE_BIT, 0, c->push_n, push + c->push_at);
		if (c->d || c->e)
			d->CmdDispatchBase(cb, (uint32_t)c->d, (uint32_t)(c->d >> 32), (uint32_t)c->e, c->x, c->y, c->z);
		else d->CmdDispatch(cb, c->x, c->y, c->z);
		return VK_SUCCESS;
	}
	case NXVK_COPY: {
		VkBufferCopy region = {c->c, c->d, c->e};
		d->CmdCopyBuffer(cb, NXVK_H(VkBuffer, c->a), NXVK_H(VkBuffer, c->b), 1, &region);
		return VK_SUCCESS;
	}
	case NXVK_FILL:
		d->CmdFillBuffer(cb, NXVK_H(VkBuffer, c->b), c->d, c->e, c->x);
		return VK_SUCCESS;
	case NXVK_TIMESTAMP:
		d->CmdWriteTimestamp(cb, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, r->queries, c->x);
		return VK_SUCCESS;
	case NXVK_QUERY_RESULT:
		query_result(d, r, c);
		return VK_SUCCESS;
	case NXVK_HOST_BARRIER:
		host_barrier(d, r);
		return VK_SUCCESS;
	}
	return VK_ERROR_UNKNOWN;
}

static int32_t reset(nxvk_device *d, nxvk_recorder *r, uint32_t queries) {
	VkResult res = d->ResetCommandPool(d->handle, r->pool, 0);
	for (uint32_t i = 0; i < r->sets_len; i++) d->ResetDescriptorPool(d->handle, r->sets[i], 0);
	r->sets_used = 0;
	if (res != VK_SUCCESS || !queries || r->queries) return res;
	VkQueryPoolCreateInfo qi = {
		.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = NXVK_MAX_QUERIES,
	};
	return d->CreateQueryPool(d->handle, &qi, NULL, &r->queries);
}

int32_t nxvk_replay(nxvk_device *d, nxvk_recorder *r, const nxvk_cmd *cmds, uint32_t n, const uint8_t *push,
	const nxvk_bind *binds, uint32_t queries, bool once) {
	int32_t res = reset(d, r, queries);
	if (res != VK_SUCCESS) return res;
	VkCommandBufferBeginInfo bi = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0,
	};
	res = d->BeginCommandBuffer(r->buffer, &bi);
	if (res == VK_SUCCESS && queries) d->CmdResetQueryPool(r->buffer, r->queries, 0, queries);
	uint64_t bound = 0;
	for (uint32_t i = 0; i < n && res == VK_SUCCESS; i++) res = record(d, r, &cmds[i], &bound, push, binds);
	return res == VK_SUCCESS ? d->EndCommandBuffer(r->buffer) : res;
}
