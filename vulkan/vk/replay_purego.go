//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"nxvk/vulkan/vk/abi"
)

// recorder is a command buffer with its pools. What it hands to the driver while it records and
// submits is in it, and it is pinned as long as it lives: recording allocates nothing.
type recorder struct {
	pin      runtime.Pinner
	pool     uint64
	buffer   uintptr
	sets     []uint64 // descriptor pools; grows while recording, reset as a whole
	setsUsed int
	queries  uint64
	copies   bool // for queues that only copy

	args       [maxArgs]uintptr
	region     abi.BufferCopy
	buffers    [MaxBindings]abi.DescriptorBufferInfo
	writes     [MaxBindings]abi.WriteDescriptorSet
	set        uint64
	layout     uint64
	allocation abi.DescriptorSetAllocateInfo
	submission submission
}

// maxArgs is the largest number of arguments of a function, that of vkCmdPipelineBarrier.
const maxArgs = 10

func (r Recorder) get() *recorder { return *(**recorder)(unsafe.Pointer(&r)) }

// call is call without an allocation: the arguments are numbers, and pointers to memory that is
// pinned or no Go memory.
func (r *recorder) call(f uintptr, args ...uintptr) Result {
	n := copy(r.args[:], args)
	v, _, _ := purego.SyscallN(f, r.args[:n]...)
	return Result(int32(uint32(v)))
}

// CreateRecorder creates a command buffer with its pools: for queues that compute where copies is 0, or for a queue that
// copies, from 1 on.
func CreateRecorder(handle Device, copies int) (Recorder, Result) {
	d := handle.get()
	r, family := &recorder{copies: copies > 0 && copies <= len(d.copying)}, d.family
	if r.copies {
		family = d.copying[copies-1].Family
	}
	pi := &abi.CommandPoolCreateInfo{
		SType: abi.TypeCommandPoolCreateInfo, Flags: abi.CommandPoolCreateTransient, QueueFamilyIndex: family,
	}
	if res := call(d.CreateCommandPool, d.handle, uintptr(unsafe.Pointer(pi)), 0, uintptr(unsafe.Pointer(&r.pool))); res != Success {
		return 0, res
	}
	ai := &abi.CommandBufferAllocateInfo{
		SType: abi.TypeCommandBufferAllocateInfo, CommandPool: r.pool, Level: abi.CommandBufferLevelPrimary, CommandBufferCount: 1,
	}
	if res := call(d.AllocateCommandBuffers, d.handle, uintptr(unsafe.Pointer(ai)), uintptr(unsafe.Pointer(&r.buffer))); res != Success {
		r.destroy(d)
		return 0, res
	}
	r.link()
	return Recorder(keep(&r.pin, r)), Success
}

// link points the structures of a recorder at one another.
func (r *recorder) link() {
	r.submission.link(&r.buffer, uint32(r.stages()))
	r.allocation = abi.DescriptorSetAllocateInfo{
		SType: abi.TypeDescriptorSetAllocateInfo, DescriptorSetCount: 1, PSetLayouts: unsafe.Pointer(&r.layout),
	}
	for i := range r.writes {
		r.writes[i] = abi.WriteDescriptorSet{
			SType: abi.TypeWriteDescriptorSet, DstBinding: uint32(i), DescriptorCount: 1,
			DescriptorType: abi.DescriptorTypeStorageBuffer, PBufferInfo: unsafe.Pointer(&r.buffers[i]),
		}
	}
}

// DestroyRecorder destroys a recorder that is not executing.
func DestroyRecorder(handle Device, rec Recorder) {
	r := rec.get()
	r.destroy(handle.get())
	drop(&r.pin, r)
}

func (r *recorder) destroy(d *device) {
	for _, pool := range r.sets {
		call(d.DestroyDescriptorPool, d.handle, uintptr(pool), 0)
	}
	call(d.DestroyQueryPool, d.handle, uintptr(r.queries), 0)
	call(d.DestroyCommandPool, d.handle, uintptr(r.pool), 0)
}

// Replay resets the recorder and records the commands. Their PushAt and BindAt are indices of push and
// binds; queries is the number of timestamps that they take, numbered from 0. once means that the
// recorder is submitted at most once.
func Replay(handle Device, rec Recorder, cmds []Cmd, push []byte, binds []Bind, queries int, once bool) Result {
	d, r := handle.get(), rec.get()
	if res := r.reset(d, queries); res != Success {
		return res
	}
	var pin runtime.Pinner // the push constants of a small batch may be on the caller's stack
	defer pin.Unpin()
	p := replay{d: d, r: r, push: pinnedSlice(&pin, push), binds: binds}
	bi := &abi.CommandBufferBeginInfo{SType: abi.TypeCommandBufferBeginInfo, Flags: bit(once, abi.CommandBufferUsageOneTimeSubmit)}
	if res := call(d.BeginCommandBuffer, r.buffer, uintptr(unsafe.Pointer(bi))); res != Success {
		return res
	}
	if queries > 0 {
		r.call(d.CmdResetQueryPool, r.buffer, uintptr(r.queries), 0, uintptr(queries))
	}
	for i := range cmds {
		if res := p.record(&cmds[i]); res != Success {
			return res
		}
	}
	return r.call(d.EndCommandBuffer, r.buffer)
}

func (r *recorder) reset(d *device, queries int) Result {
	res := r.call(d.ResetCommandPool, d.handle, uintptr(r.pool), 0)
	for _, pool := range r.sets {
		r.call(d.ResetDescriptorPool, d.handle, uintptr(pool), 0)
	}
	r.setsUsed = 0
	if res != Success || queries == 0 || r.queries != 0 {
		return res
	}
	qi := &abi.QueryPoolCreateInfo{SType: abi.TypeQueryPoolCreateInfo, QueryType: abi.QueryTypeTimestamp, QueryCount: MaxQueries}
	return call(d.CreateQueryPool, d.handle, uintptr(unsafe.Pointer(qi)), 0, uintptr(unsafe.Pointer(&r.queries)))
}

// Compute and transfer stages together cost what compute alone does; wider
// scopes (ALL_COMMANDS, MEMORY_*) cost more than twice as much on NVIDIA.
const stages = uintptr(abi.PipelineStageComputeShader | abi.PipelineStageTransfer)

// stages are those at which the commands of a recorder work.
func (r *recorder) stages() uintptr {
	if r.copies {
		return uintptr(abi.PipelineStageTransfer)
	}
	return stages
}

// Barriers between commands, and before the host reads. Variables of a package do not move.
var (
	commandBarrier = abi.MemoryBarrier{
		SType:         abi.TypeMemoryBarrier,
		SrcAccessMask: abi.AccessShaderWrite | abi.AccessTransferWrite,
		DstAccessMask: abi.AccessShaderRead | abi.AccessShaderWrite | abi.AccessTransferRead | abi.AccessTransferWrite,
	}
	copyBarrier = abi.MemoryBarrier{
		SType:         abi.TypeMemoryBarrier,
		SrcAccessMask: abi.AccessTransferWrite,
		DstAccessMask: abi.AccessTransferRead | abi.AccessTransferWrite,
	}
	hostCopyBarrier = abi.MemoryBarrier{
		SType:         abi.TypeMemoryBarrier,
		SrcAccessMask: abi.AccessTransferWrite,
		DstAccessMask: abi.AccessHostRead,
	}
	hostBarrier = abi.MemoryBarrier{
		SType:         abi.TypeMemoryBarrier,
		SrcAccessMask: abi.AccessShaderWrite | abi.AccessTransferWrite,
		DstAccessMask: abi.AccessHostRead,
	}
)

// replay records commands into a command buffer.
type replay struct {
	d     *device
	r     *recorder
	push  unsafe.Pointer
	binds []Bind
	bound uint64 // the pipeline
}

func (p *replay) record(c *Cmd) Result {
	d, r := p.d, p.r
	between, last := &commandBarrier, &hostBarrier
	if r.copies {
		between, last = &copyBarrier, &hostCopyBarrier
	}
	if c.Barrier != 0 {
		r.call(d.CmdPipelineBarrier, r.buffer, r.stages(), r.stages(), 0, 1, uintptr(unsafe.Pointer(between)), 0, 0, 0, 0)
	}
	switch c.Op {
	case OpDispatch:
		return p.dispatch(c)
	case OpCopy:
		r.region = abi.BufferCopy{SrcOffset: c.C, DstOffset: c.D, Size: c.E}
		r.call(d.CmdCopyBuffer, r.buffer, uintptr(c.A), uintptr(c.B), 1, uintptr(unsafe.Pointer(&r.region)))
	case OpFill:
		r.call(d.CmdFillBuffer, r.buffer, uintptr(c.B), uintptr(c.D), uintptr(c.E), uintptr(c.X))
	case OpTimestamp:
		r.call(d.CmdWriteTimestamp, r.buffer, uintptr(abi.PipelineStageBottomOfPipe), uintptr(r.queries), uintptr(c.X))
	case OpQueryResult: // a timestamp's 8 bytes
		r.call(d.CmdCopyQueryPoolResults, r.buffer, uintptr(r.queries), uintptr(c.X), 1, uintptr(c.B), uintptr(c.D), 8,
			uintptr(abi.QueryResult64Bit|abi.QueryResultWait))
	case OpHostBarrier:
		r.call(d.CmdPipelineBarrier, r.buffer, r.stages(), uintptr(abi.PipelineStageHost), 0,
			1, uintptr(unsafe.Pointer(last)), 0, 0, 0, 0)
	default:
		return ErrorUnknown
	}
	return Success
}

func (p *replay) dispatch(c *Cmd) Result {
	d, r := p.d, p.r
	if p.bound != c.A {
		r.call(d.CmdBindPipeline, r.buffer, uintptr(abi.PipelineBindPointCompute), uintptr(c.A))
		p.bound = c.A
	}
	if c.BindN != 0 {
		if res := p.bind(c); res != Success {
			return res
		}
	}
	if c.PushN != 0 {
		r.call(d.CmdPushConstants, r.buffer, uintptr(c.B), uintptr(abi.ShaderStageCompute), 0, uintptr(c.PushN),
			uintptr(unsafe.Add(p.push, c.PushAt)))
	}
	if c.D != 0 || c.E != 0 {
		r.call(d.CmdDispatchBase, r.buffer, uintptr(uint32(c.D)), uintptr(c.D>>32), uintptr(c.E), uintptr(c.X), uintptr(c.Y), uintptr(c.Z))
	} else {
		r.call(d.CmdDispatch, r.buffer, uintptr(c.X), uintptr(c.Y), uintptr(c.Z))
	}
	return Success
}

// bind pushes descriptors, or on devices without push descriptors
// (C is then the layout to allocate with) takes a set from the recorder.
func (p *replay) bind(c *Cmd) Result {
	d, r := p.d, p.r
	r.set = 0
	if c.C != 0 {
		if res := r.nextSet(d, c.C); res != Success {
			return res
		}
	}
	for i, b := range p.binds[c.BindAt : c.BindAt+c.BindN] {
		r.buffers[i] = abi.DescriptorBufferInfo{Buffer: b.Buffer, Offset: b.Offset, Range: b.Range}
		r.writes[i].DstSet = r.set
	}
	writes := uintptr(unsafe.Pointer(&r.writes))
	if r.set == 0 {
		r.call(d.CmdPushDescriptorSetKHR, r.buffer, uintptr(abi.PipelineBindPointCompute), uintptr(c.B), 0, uintptr(c.BindN), writes)
		return Success
	}
	r.call(d.UpdateDescriptorSets, d.handle, uintptr(c.BindN), writes, 0, 0)
	r.call(d.CmdBindDescriptorSets, r.buffer, uintptr(abi.PipelineBindPointCompute), uintptr(c.B), 0,
		1, uintptr(unsafe.Pointer(&r.set)), 0, 0)
	return Success
}

const setsAPool = 512

// nextSet allocates r.set from the pools of the recorder.
func (r *recorder) nextSet(d *device, layout uint64) Result {
	r.layout = layout
	for fresh := false; ; r.setsUsed++ {
		if r.setsUsed == len(r.sets) {
			if res := r.growSets(d); res != Success {
				return res
			}
			fresh = true
		}
		r.allocation.DescriptorPool = r.sets[r.setsUsed]
		res := r.call(d.AllocateDescriptorSets, d.handle, uintptr(unsafe.Pointer(&r.allocation)), uintptr(unsafe.Pointer(&r.set)))
		if fresh || res != errorOutOfPoolMemory && res != errorFragmentedPool {
			return res
		}
	}
}

func (r *recorder) growSets(d *device) Result {
	var pin runtime.Pinner
	defer pin.Unpin()
	size := &abi.DescriptorPoolSize{Type: abi.DescriptorTypeStorageBuffer, DescriptorCount: setsAPool * 8}
	ci := &abi.DescriptorPoolCreateInfo{
		SType: abi.TypeDescriptorPoolCreateInfo, MaxSets: setsAPool, PoolSizeCount: 1, PPoolSizes: pinned(&pin, size),
	}
	var pool uint64
	res := call(d.CreateDescriptorPool, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&pool)))
	if res == Success {
		r.sets = append(r.sets, pool)
	}
	return res
}
