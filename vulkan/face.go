package vulkan

import (
	"nxvk/vulkan/adapter"
	"nxvk/vulkan/hazard"
	"nxvk/vulkan/logical"
	"nxvk/vulkan/memory"
	"nxvk/vulkan/pipeline"
	"nxvk/vulkan/vk"
)

// Types of other packages that users of this one need.
type (
	// Info describes a device.
	Info = adapter.Info
	// Kind is the kind of a device.
	Kind = adapter.Kind
	// Version is a version of Vulkan.
	Version = adapter.Version
	// Matrix is a shape of cooperative matrices, Component the type of their elements.
	Matrix    = adapter.Matrix
	Component = adapter.Component
	// Features are the features that kernels may use.
	Features = adapter.Features
	// Limits are the limits of kernels and buffers.
	Limits = adapter.Limits
	// Options change how a device is opened.
	Options = logical.Options
	// Fault provokes failures in tests.
	Fault = logical.Fault
	// Pipeline is a compiled kernel.
	Pipeline = pipeline.Pipeline
	// Layout is the interface of a kernel.
	Layout = pipeline.Layout
	// Promise says that streams will write a buffer by work that they have yet to submit, see Buffer.Promise.
	Promise = memory.Promise
	// Access says whether a command reads or writes a buffer.
	Access = hazard.Access
)

// Kinds of devices, in the order of preference.
const (
	Discrete   = adapter.Discrete
	Integrated = adapter.Integrated
	Virtual    = adapter.Virtual
	CPU        = adapter.CPU
	Other      = adapter.Other
)

// Components of cooperative matrices.
const (
	ComponentF16  = adapter.ComponentF16
	ComponentBF16 = adapter.ComponentBF16
	ComponentS8   = adapter.ComponentS8
	ComponentU8   = adapter.ComponentU8
)

// Accesses.
const (
	Read  = hazard.Read
	Write = hazard.Write
)

// Binding says how the program calls Vulkan: by "cgo", by "purego", or by "none".
const Binding = vk.Binding

// IdleTime is how long at least memory that nothing uses is kept for the next buffers; after
// at most twice that time it returns to the driver.
const IdleTime = memory.IdleTime

// Devices lists the devices that can be opened, best first: discrete before integrated before
// virtual before CPU, and more memory before less. Without Vulkan the list is empty and the
// error is [ErrNoVulkan].
func Devices() ([]Info, error) { return adapter.List() }
