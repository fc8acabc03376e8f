//go:build cgo

// memory.c makes memory and the one buffer that covers it.
#include "vk.h"

int32_t nxvk_create_buffer(
	nxvk_device *d, uint64_t size, int address, int imported, uint64_t *buffer, uint64_t *need, uint32_t *types) {
	VkExternalMemoryBufferCreateInfo external = {
		.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
	};
	VkBufferCreateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.pNext = imported ? &external : NULL,
		.size = size,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
				 VK_BUFFER_USAGE_TRANSFER_DST_BIT | (address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0),
		.sharingMode = d->distinct > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
		.queueFamilyIndexCount = d->distinct > 1 ? d->distinct : 0,
		.pQueueFamilyIndices = d->families,
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

// allocate allocates memory, from what next says where that is not NULL.
static int32_t allocate(nxvk_device *d, uint64_t size, uint32_t type, int address, const void *next, uint64_t *memory) {
	VkMemoryAllocateFlagsInfo flags = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.pNext = next,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
	};
	VkMemoryAllocateInfo ci = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.pNext = address ? &flags : next,
		.allocationSize = size,
		.memoryTypeIndex = type,
	};
	VkDeviceMemory m;
	VkResult r = d->AllocateMemory(d->handle, &ci, NULL, &m);
	if (r == VK_SUCCESS) *memory = NXVK_U(m);
	return r;
}

int32_t nxvk_allocate(nxvk_device *d, uint64_t size, uint32_t type, int address, uint64_t *memory) {
	return allocate(d, size, type, address, NULL, memory);
}

int32_t nxvk_host_types(nxvk_device *d, void *p, uint32_t *types) {
	VkMemoryHostPointerPropertiesEXT out = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
	VkResult r = d->GetMemoryHostPointerPropertiesEXT(
		d->handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, p, &out);
	*types = out.memoryTypeBits;
	return r;
}

int32_t nxvk_import(nxvk_device *d, void *p, uint64_t size, uint32_t type, int address, uint64_t *memory) {
	VkImportMemoryHostPointerInfoEXT host = {
		.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
		.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
		.pHostPointer = p,
	};
	return allocate(d, size, type, address, &host, memory);
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
