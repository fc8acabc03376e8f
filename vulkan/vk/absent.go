//go:build !cgo && (novulkan || !(amd64 || arm64) || !(linux || freebsd || darwin || windows))

package vk

// Binding says how the package calls Vulkan.
const Binding = "none"

// Without the loader nothing past Load is ever reached. The
// files with cgo say what each function does.
const unreachable = "BUG: a call of Vulkan in a build without it"

// Load reports ErrNotBuilt.
func Load() error { return ErrNotBuilt }

func CreateInstance(Message) (Instance, Result)                           { panic(unreachable) }
func DestroyInstance(Instance)                                            { panic(unreachable) }
func EnumeratePhysicalDevices(Instance) ([]PhysicalDevice, error)         { panic(unreachable) }
func GetPhysicalDeviceInfo(Instance, PhysicalDevice) Info                 { panic(unreachable) }
func GetMemoryBudget(Instance, PhysicalDevice) (budget, usage [16]uint64) { panic(unreachable) }
func CreateDevice(Instance, PhysicalDevice, *Info) (Device, Result)       { panic(unreachable) }
func DestroyDevice(Device)                                                { panic(unreachable) }
func DeviceWaitIdle(Device) Result                                        { panic(unreachable) }

func CreateBuffer(Device, uint64, bool) (Buffer, Requirements, Result)         { panic(unreachable) }
func CreateImportedBuffer(Device, uint64, bool) (Buffer, Requirements, Result) { panic(unreachable) }
func DestroyBuffer(Device, Buffer)                                             { panic(unreachable) }
func AllocateMemory(Device, uint64, int, bool) (Memory, Result)                { panic(unreachable) }
func HostMemoryTypes(Device, []byte) (uint32, Result)                          { panic(unreachable) }
func ImportHostMemory(Device, []byte, int, bool) (Memory, Result)              { panic(unreachable) }
func FreeMemory(Device, Memory)                                                { panic(unreachable) }
func BindBufferMemory(Device, Buffer, Memory) Result                           { panic(unreachable) }
func MapMemory(Device, Memory, uint64) ([]byte, Result)                        { panic(unreachable) }
func GetBufferDeviceAddress(Device, Buffer) uint64                             { panic(unreachable) }

func CreatePipelineCache(Device, []byte) (PipelineCache, Result)              { panic(unreachable) }
func GetPipelineCacheData(Device, PipelineCache) ([]byte, Result)             { panic(unreachable) }
func MergePipelineCache(_ Device, _, _ PipelineCache) Result                  { panic(unreachable) }
func DestroyPipelineCache(Device, PipelineCache)                              { panic(unreachable) }
func CreateLayout(Device, int, bool, int) (SetLayout, PipelineLayout, Result) { panic(unreachable) }
func DestroyLayout(Device, SetLayout, PipelineLayout)                         { panic(unreachable) }
func CreateComputePipeline(Device, *PipelineInfo) (Pipeline, Result)          { panic(unreachable) }
func DestroyPipeline(Device, Pipeline)                                        { panic(unreachable) }

func CreateRecorder(Device, int) (Recorder, Result)                        { panic(unreachable) }
func DestroyRecorder(Device, Recorder)                                     { panic(unreachable) }
func Replay(Device, Recorder, []Cmd, []byte, []Bind, int, bool) Result     { panic(unreachable) }
func CreateTimeline(Device) (Semaphore, Result)                            { panic(unreachable) }
func DestroySemaphore(Device, Semaphore)                                   { panic(unreachable) }
func GetSemaphoreCounterValue(Device, Semaphore) (uint64, Result)          { panic(unreachable) }
func WaitSemaphores(Device, Semaphore, uint64, uint64) Result              { panic(unreachable) }
func QueueSubmit(Device, int, Recorder, Semaphore, uint64, []Point) Result { panic(unreachable) }
