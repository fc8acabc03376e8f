// Package devfile finds out why a GPU of the machine is out of the reach of this process on Linux:
// its device file is missing, or the system does not let this process open it. A driver of Vulkan
// does not tell; it lists no device.
//
// GPUs are those of PCI in /sys. Their device files are the render nodes of DRM in /dev/dri, and
// those of NVIDIA's own driver. The package opens them and closes them again. It knows nothing of
// Vulkan.
package devfile
