package abi

//lint:file-ignore ST1003 The names are those of Vulkan.

import (
	"structs"
	"unsafe"
)

// Structures of instances, layers and messages.
type (
	ApplicationInfo struct {
		_                  structs.HostLayout
		SType              uint32
		PNext              unsafe.Pointer
		PApplicationName   unsafe.Pointer
		ApplicationVersion uint32
		PEngineName        unsafe.Pointer
		EngineVersion      uint32
		ApiVersion         uint32
	}
	InstanceCreateInfo struct {
		_                       structs.HostLayout
		SType                   uint32
		PNext                   unsafe.Pointer
		Flags                   uint32
		PApplicationInfo        unsafe.Pointer
		EnabledLayerCount       uint32
		PpEnabledLayerNames     unsafe.Pointer
		EnabledExtensionCount   uint32
		PpEnabledExtensionNames unsafe.Pointer
	}
	DebugUtilsMessengerCreateInfoEXT struct {
		_               structs.HostLayout
		SType           uint32
		PNext           unsafe.Pointer
		Flags           uint32
		MessageSeverity uint32
		MessageType     uint32
		PfnUserCallback uintptr
		PUserData       uintptr
	}
	DebugUtilsMessengerCallbackDataEXT struct {
		_                structs.HostLayout
		SType            uint32
		PNext            unsafe.Pointer
		Flags            uint32
		PMessageIdName   unsafe.Pointer
		MessageIdNumber  int32
		PMessage         unsafe.Pointer
		QueueLabelCount  uint32
		PQueueLabels     unsafe.Pointer
		CmdBufLabelCount uint32
		PCmdBufLabels    unsafe.Pointer
		ObjectCount      uint32
		PObjects         unsafe.Pointer
	}
	ValidationFeaturesEXT struct {
		_                              structs.HostLayout
		SType                          uint32
		PNext                          unsafe.Pointer
		EnabledValidationFeatureCount  uint32
		PEnabledValidationFeatures     unsafe.Pointer
		DisabledValidationFeatureCount uint32
		PDisabledValidationFeatures    unsafe.Pointer
	}
	LayerProperties struct {
		_                     structs.HostLayout
		LayerName             [256]byte
		SpecVersion           uint32
		ImplementationVersion uint32
		Description           [256]byte
	}
	ExtensionProperties struct {
		_             structs.HostLayout
		ExtensionName [256]byte
		SpecVersion   uint32
	}
)
