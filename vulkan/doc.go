// Package vulkan computes on one Vulkan device: memory, kernels, recording and submission.
//
// It has five nouns. A [Device] is opened by [Open]; [Devices] lists the devices of the machine.
// A [Buffer] is a piece of memory, cut from large blocks. A [Pipeline] is a compiled kernel. A
// [Stream] records commands in order and submits them; every submission has a [Ticket]. The
// submissions of a stream complete in order, and streams take turns on the device.
//
//	d, err := vulkan.Open("", vulkan.Options{})
//	b, err := d.Alloc(4096)
//	p, err := d.Pipeline("double", code, vulkan.Layout{Buffers: 1, Addresses: true})
//	s := d.Stream()
//	err = s.Upload(b, 0, data)
//	err = s.Dispatch(p, []vulkan.Arg{vulkan.ReadWrite(b)}, nil, 16, 1, 1)
//	r, err := s.Download(b, 0, 4096)
//	t, err := s.Submit()
//	err = d.Wait(ctx, t)
//	use(r.Bytes())
//
// A stream inserts a barrier where a command needs the result of another one, or overwrites a
// buffer that another one reads, and nowhere else. A buffer may be freed while recorded or
// running work uses it.
//
// This package is the face: it records commands and moves data. Below it, each with its own
// documentation:
//
//	submit    whose batch is next, command buffers, completion
//	memory    blocks, pools, regions, and the submissions that use them
//	hazard    where a stream needs a barrier
//	pipeline  compiling kernels, the pipeline cache
//	logical   the open device: handles, options, errors, loss
//	adapter   the devices of the machine, their features and limits
//	vk        the entry points of Vulkan; all cgo is there, and what builds without cgo have instead
//
// A build without Vulkan has the same packages, lists no devices and answers Open with
// [ErrNoVulkan]. The package knows nothing of tensors, operations or the network.
package vulkan
