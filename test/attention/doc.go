// Package attention measures the kernel of synth/attention for matrix hardware on a Vulkan device, without a
// node around it.
package attention
