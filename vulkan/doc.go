// Package vulkan computes on one Vulkan device: memory, kernels, recording and
// submission.
//
// It is made of five nouns. A [Device] is opened by [Open]; [Devices] lists what
// there is. A [Buffer] is a piece of memory, cut from large blocks. A [Pipeline]
// is a compiled kernel. A [Stream] records work in order and submits it; every
// submission has a [Ticket]. Submissions of a stream complete in order, and streams take
// turns on the device.
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
// A stream inserts a barrier where one command needs the result of another, or
// overwrites what it reads, and nowhere else. A buffer may be freed while work
// that uses it is recorded or running.
//
// The package knows nothing of tensors, ops or the network. Vulkan itself is in
// package vk, which is also all there is of cgo: a build without cgo has this
// same package, lists no devices and answers Open with [ErrNoVulkan].
//
// Start reading at device.go, then stream.go, memory.go and handover.go.
package vulkan
