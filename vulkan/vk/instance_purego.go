//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"nxvk/vulkan/vk/abi"
)

type instance struct {
	pin              runtime.Pinner
	handle           uintptr
	api              uint32
	messenger        uint64
	destroyMessenger uintptr
	message          uintptr // its key in messages
	instanceFuncs
	cooperativeMatrix uintptr // may be absent
}

type instanceFuncs struct {
	DestroyInstance, EnumeratePhysicalDevices, EnumerateDeviceExtensionProperties, GetPhysicalDeviceProperties2,
	GetPhysicalDeviceFeatures2, GetPhysicalDeviceMemoryProperties2, GetPhysicalDeviceProperties,
	GetPhysicalDeviceQueueFamilyProperties, CreateDevice, GetDeviceProcAddr uintptr
}

func (in Instance) get() *instance { return *(**instance)(unsafe.Pointer(&in)) }

const validationLayer = "VK_LAYER_KHRONOS_validation"

// CreateInstance creates an instance; with a message function it has the
// validation layer, with synchronization validation.
func CreateInstance(message Message) (Instance, Result) {
	if message != nil && !hasLayer(validationLayer) {
		return 0, ErrorLayerNotPresent
	}
	api := apiVersion()
	if api < abi.Version11 {
		return 0, ErrorIncompatibleDriver
	}
	in := &instance{api: min(api, abi.Version13)}
	debug := &abi.DebugUtilsMessengerCreateInfoEXT{
		SType:           abi.TypeDebugUtilsMessengerCreateInfoEXT,
		MessageSeverity: abi.DebugUtilsMessageSeverityWarningEXT | abi.DebugUtilsMessageSeverityErrorEXT,
		MessageType:     abi.DebugUtilsMessageTypeValidationEXT | abi.DebugUtilsMessageTypePerformanceEXT,
	}
	if message != nil {
		in.message = lastMessage.Add(1)
		messages.Store(in.message, message)
		debug.PfnUserCallback, debug.PUserData = onMessage(), in.message
	}
	r := in.create(message != nil, debug)
	if r != Success {
		messages.Delete(in.message)
		return 0, r
	}
	return Instance(keep(&in.pin, in)), Success
}

func (in *instance) create(validation bool, debug *abi.DebugUtilsMessengerCreateInfoEXT) Result {
	var pin runtime.Pinner
	defer pin.Unpin()
	app := &abi.ApplicationInfo{SType: abi.TypeApplicationInfo, PApplicationName: pinned(&pin, (*byte)(cString("nxvk"))), ApiVersion: in.api}
	ci := &abi.InstanceCreateInfo{SType: abi.TypeInstanceCreateInfo, PApplicationInfo: pinned(&pin, app)}
	var extensions []string
	const portability = "VK_KHR_portability_enumeration"
	if has(instanceExtensions(), portability) {
		extensions = append(extensions, portability)
		ci.Flags |= abi.InstanceCreateEnumeratePortabilityKHR
	}
	if validation {
		extensions = append(extensions, "VK_EXT_debug_utils")
		enable := []uint32{abi.ValidationFeatureEnableSynchronizationValidationEXT}
		ci.PNext = pinned(&pin, &abi.ValidationFeaturesEXT{
			SType: abi.TypeValidationFeaturesEXT, PNext: pinned(&pin, debug),
			EnabledValidationFeatureCount: 1, PEnabledValidationFeatures: pinnedSlice(&pin, enable),
		})
		ci.EnabledLayerCount, ci.PpEnabledLayerNames = 1, pinnedStrings(&pin, []string{validationLayer})
	}
	ci.EnabledExtensionCount, ci.PpEnabledExtensionNames = uint32(len(extensions)), pinnedStrings(&pin, extensions)
	if r := call(procAddr(0, "vkCreateInstance"), uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&in.handle))); r != Success {
		return r
	}
	resolveAll(&in.instanceFuncs, loader.procAddr, in.handle)
	in.cooperativeMatrix = procAddr(in.handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")
	if !validation {
		return Success
	}
	r := in.createMessenger(debug)
	if r != Success {
		call(in.DestroyInstance, in.handle, 0)
	}
	return r
}

func (in *instance) createMessenger(debug *abi.DebugUtilsMessengerCreateInfoEXT) Result {
	create := procAddr(in.handle, "vkCreateDebugUtilsMessengerEXT")
	in.destroyMessenger = procAddr(in.handle, "vkDestroyDebugUtilsMessengerEXT")
	if create == 0 {
		return errorExtensionNotPresent
	}
	return call(create, in.handle, uintptr(unsafe.Pointer(debug)), 0, uintptr(unsafe.Pointer(&in.messenger)))
}

// DestroyInstance destroys an instance whose devices are destroyed.
func DestroyInstance(handle Instance) {
	in := handle.get()
	if in.messenger != 0 {
		call(in.destroyMessenger, in.handle, uintptr(in.messenger), 0)
	}
	call(in.DestroyInstance, in.handle, 0)
	messages.Delete(in.message)
	drop(&in.pin, in)
}

// EnumeratePhysicalDevices lists the instance's devices.
func EnumeratePhysicalDevices(handle Instance) ([]PhysicalDevice, error) {
	in := handle.get()
	var r Result
	list := enumerate(func(n *uint32, list *PhysicalDevice) Result {
		r = call(in.EnumeratePhysicalDevices, in.handle, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list)))
		return r
	})
	if r != Success && r != Incomplete {
		return nil, r
	}
	return list, nil
}

// enumerate calls a function that fills a list, first for its length and then for the list.
func enumerate[T any](f func(n *uint32, list *T) Result) []T {
	var n uint32
	if r := f(&n, nil); r < 0 || n == 0 {
		return nil
	}
	list := make([]T, n)
	if r := f(&n, &list[0]); r < 0 {
		return nil
	}
	return list[:n]
}

// apiVersion returns the version of the loader. Vulkan 1.0 has no function for it.
func apiVersion() uint32 {
	version := abi.Version10
	if f := procAddr(0, "vkEnumerateInstanceVersion"); f != 0 {
		call(f, uintptr(unsafe.Pointer(&version)))
	}
	return version
}

func hasLayer(name string) bool {
	f := procAddr(0, "vkEnumerateInstanceLayerProperties")
	for _, l := range enumerate(func(n *uint32, list *abi.LayerProperties) Result {
		return call(f, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list)))
	}) {
		if goString(unsafe.Pointer(&l.LayerName)) == name {
			return true
		}
	}
	return false
}

func instanceExtensions() []abi.ExtensionProperties {
	f := procAddr(0, "vkEnumerateInstanceExtensionProperties")
	return enumerate(func(n *uint32, list *abi.ExtensionProperties) Result {
		return call(f, 0, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list)))
	})
}

// has reports whether an extension is in a list.
func has(list []abi.ExtensionProperties, name string) bool {
	for i := range list {
		if goString(unsafe.Pointer(&list[i].ExtensionName)) == name {
			return true
		}
	}
	return false
}

// pinnedStrings returns an array of strings for C.
func pinnedStrings(p *runtime.Pinner, all []string) unsafe.Pointer {
	list := make([]unsafe.Pointer, len(all))
	for i, s := range all {
		list[i] = pinned(p, (*byte)(cString(s)))
	}
	return pinnedSlice(p, list)
}

// messages has the receivers of messages by the number that the layer hands back, since C may not
// hold a function of Go.
var (
	messages    sync.Map
	lastMessage atomic.Uintptr
)

// onMessage returns the one function that the layer calls: such functions are never freed.
var onMessage = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(severity, _, data, receiver uintptr) uintptr {
		name := "warning"
		if uint32(severity) >= abi.DebugUtilsMessageSeverityErrorEXT {
			name = "error"
		}
		if f, ok := messages.Load(receiver); ok {
			d := *(**abi.DebugUtilsMessengerCallbackDataEXT)(unsafe.Pointer(&data))
			f.(Message)(name, goString(d.PMessage))
		}
		return 0
	})
})
