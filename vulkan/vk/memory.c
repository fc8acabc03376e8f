//go:build cgo

// memory.c makes memory and the one buffer that covers it.
#include "vk.h"

int32_t nxvk_create_buffer(
	nxvk_device *d, uint64_t size, int address, uint64_t *buffer, uint64_t *need, uint32_t *types) {
	VkBufferCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = size,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
				 VK_BUFFER_USAGE_TRANSFER_DST_BIT | (address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0),
	};
	VkBuffer b;
	VkResult r = d->CreateBuffer(d->handle, &ci, NULL, &b);
	if (r != VK_SUCCESS) return r;
	VkMemoryRequirements req;
	d->GetBufferMemoryRequirements(d->handle, b, &req);
	*buffer = NXVK_U(b);
	*need = req.size;
	*types = req.memoryTypeBits;
	return VK_SUCCESS;
}

void nxvk_destroy_buffer(nxvk_device *d, uint64_t buffer) {
	d->DestroyBuffer(d->handle, NXVK_H(VkBuffer, buffer), NULL);
}

int32_t nxvk_allocate(nxvk_device *d, uint64_t size, uint32_t type, int address, uint64_t *memory) {
	VkMemoryAllocateFlagsInfo flags = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
	};
	VkMemoryAllocateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = address ? &flags : NULL,
		.allocationSize = size,
		.memoryTypeIndex = type,
	};
	VkDeviceMemory m;
	VkResult r = d->AllocateMemory(d->handle, &ci, NULL, &m);
	if (r == VK_SUCCESS) *memory = NXVK_U(m);
	return r;
}

int32_t nxvk_bind_memory(nxvk_device *d, uint64_t buffer, uint64_t memory) {
	return d->BindBufferMemory(d->handle, NXVK_H(VkBuffer, buffer), NXVK_H(VkDeviceMemory, memory), 0);
}

int32_t nxvk_map(nxvk_device *d, uint64_t memory, void **p) {
	return d->MapMemory(d->handle, NXVK_H(VkDeviceMemory, memory), 0, VK_WHOLE_SIZE, 0, p);
}

uint64_t nxvk_address(nxvk_device *d, uint64_t buffer) {
	VkBufferDeviceAddressInfo i = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = NXVK_H(VkBuffer, buffer)};
	return d->GetBufferDeviceAddress(d->handle, &i);
}

void nxvk_free_memory(nxvk_device *d, uint64_t memory) {
	d->FreeMemory(d->handle, NXVK_H(VkDeviceMemory, memory), NULL);
}
