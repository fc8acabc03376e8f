//go:build cgo

// queue.c submits command buffers and waits on timeline semaphores.
#include "vk.h"

int32_t nxvk_create_timeline(nxvk_device *d, uint64_t *out) {
	VkSemaphoreTypeCreateInfo ti = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	VkSemaphoreCreateInfo ci = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &ti};
	VkSemaphore s;
	VkResult r = d->CreateSemaphore(d->handle, &ci, NULL, &s);
	if (r == VK_SUCCESS) *out = NXVK_U(s);
	return r;
}

void nxvk_destroy_semaphore(nxvk_device *d, uint64_t sem) {
	d->DestroySemaphore(d->handle, NXVK_H(VkSemaphore, sem), NULL);
}

int32_t nxvk_counter(nxvk_device *d, uint64_t sem, uint64_t *value) {
	return d->GetSemaphoreCounterValue(d->handle, NXVK_H(VkSemaphore, sem), value);
}

int32_t nxvk_wait(nxvk_device *d, uint64_t sem, uint64_t value, uint64_t timeout_ns) {
	VkSemaphore s = NXVK_H(VkSemaphore, sem);
	VkSemaphoreWaitInfo wi = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		.semaphoreCount = 1,
		.pSemaphores = &s,
		.pValues = &value,
	};
	return d->WaitSemaphores(d->handle, &wi, timeout_ns);
}

int32_t nxvk_submit(nxvk_device *d, uint32_t queue, nxvk_recorder *r, uint64_t sem, uint64_t value,
	const nxvk_point *after, uint32_t n) {
	VkSemaphore s = NXVK_H(VkSemaphore, sem), waits[NXVK_ALL_QUEUES];
	uint64_t values[NXVK_ALL_QUEUES];
	VkPipelineStageFlags stages[NXVK_ALL_QUEUES];
	if (n > NXVK_ALL_QUEUES || queue >= d->computing + d->copying) return VK_ERROR_TOO_MANY_OBJECTS;
	for (uint32_t i = 0; i < n; i++) {
		waits[i] = NXVK_H(VkSemaphore, after[i].sem);
		values[i] = after[i].value;
		stages[i] = VK_PIPELINE_STAGE_TRANSFER_BIT | (r->copies ? 0 : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
	}
	VkTimelineSemaphoreSubmitInfo ti = {
		.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = n,
		.pWaitSemaphoreValues = values,
		.signalSemaphoreValueCount = 1,
		.pSignalSemaphoreValues = &value,
	};
	VkSubmitInfo si = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.pNext = &ti,
		.waitSemaphoreCount = n,
		.pWaitSemaphores = waits,
		.pWaitDstStageMask = stages,
		.commandBufferCount = 1,
		.pCommandBuffers = &r->buffer,
		.signalSemaphoreCount = 1,
		.pSignalSemaphores = &s,
	};
	return d->QueueSubmit(d->queues[queue], 1, &si, VK_NULL_HANDLE);
}
