package vulkan

import "nxvk/vulkan/submit"

// Promise makes a promise of a buffer. What other streams record meanwhile with the buffer comes after what the writers submit
// until Keep, and waits for its turn until then, as does what these streams submit behind it. The
// writers come after what used the buffer before, and order themselves among each other. Keep is called before the buffer is freed.
func (b *Buffer) Promise(writers ...*Stream) *Promise {
	flows := make([]*submit.Flow, len(writers))
	for i, s := range writers {
		flows[i] = s.flow
	}
	return b.d.mem.Promise(b.r, flows)
}
