package vk

import "fmt"

// Result is a VkResult. It is an error whose text is Vulkan's own name.
type Result int32

// Results that callers distinguish.
const (
	Success                 Result = 0
	NotReady                Result = 1
	Timeout                 Result = 2
	Incomplete              Result = 5
	CompileRequired         Result = 1000297000
	ErrorOutOfHostMemory    Result = -1
	ErrorOutOfDeviceMemory  Result = -2
	ErrorInitialization     Result = -3
	ErrorDeviceLost         Result = -4
	ErrorMemoryMapFailed    Result = -5
	ErrorLayerNotPresent    Result = -6
	ErrorIncompatibleDriver Result = -9
	ErrorTooManyObjects     Result = -10
	ErrorUnknown            Result = -13

	errorExtensionNotPresent Result = -7
	errorFragmentedPool      Result = -12
	errorOutOfPoolMemory     Result = -1000069000
)

var resultNames = map[Result]string{
	Success:                  "VK_SUCCESS",
	NotReady:                 "VK_NOT_READY",
	Timeout:                  "VK_TIMEOUT",
	3:                        "VK_EVENT_SET",
	4:                        "VK_EVENT_RESET",
	Incomplete:               "VK_INCOMPLETE",
	ErrorOutOfHostMemory:     "VK_ERROR_OUT_OF_HOST_MEMORY",
	ErrorOutOfDeviceMemory:   "VK_ERROR_OUT_OF_DEVICE_MEMORY",
	ErrorInitialization:      "VK_ERROR_INITIALIZATION_FAILED",
	ErrorDeviceLost:          "VK_ERROR_DEVICE_LOST",
	ErrorMemoryMapFailed:     "VK_ERROR_MEMORY_MAP_FAILED",
	ErrorLayerNotPresent:     "VK_ERROR_LAYER_NOT_PRESENT",
	errorExtensionNotPresent: "VK_ERROR_EXTENSION_NOT_PRESENT",
	-8:                       "VK_ERROR_FEATURE_NOT_PRESENT",
	ErrorIncompatibleDriver:  "VK_ERROR_INCOMPATIBLE_DRIVER",
	ErrorTooManyObjects:      "VK_ERROR_TOO_MANY_OBJECTS",
	-11:                      "VK_ERROR_FORMAT_NOT_SUPPORTED",
	errorFragmentedPool:      "VK_ERROR_FRAGMENTED_POOL",
	ErrorUnknown:             "VK_ERROR_UNKNOWN",
	-1000012000:              "VK_ERROR_INVALID_SHADER_NV",
	errorOutOfPoolMemory:     "VK_ERROR_OUT_OF_POOL_MEMORY",
	-1000161000:              "VK_ERROR_FRAGMENTATION",
	-1000257000:              "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS",
	CompileRequired:          "VK_PIPELINE_COMPILE_REQUIRED",
}

func (r Result) Error() string {
	if s, ok := resultNames[r]; ok {
		return s
	}
	return fmt.Sprintf("VkResult %d", int32(r))
}

// Err returns nil for [Success] and r otherwise.
func (r Result) Err() error {
	if r == Success {
		return nil
	}
	return r
}
