package submit

import (
	"slices"

	"nxvk/vulkan/vk"
)

// A stream of small batches mostly repeats itself: the same kernel on the same memory,
// since the next round reuses memory that a round frees. Recording a command takes as long
// as submitting it (5 µs each on an H200), so a small batch identical to an earlier one
// reuses its command buffer.

// buffersKept is how many command buffers exist before one with other commands is recorded
// again.
const buffersKept = 8

// commandBuffer is a Vulkan command buffer with its pools.
type commandBuffer struct {
	vk     vk.Recorder
	copies int // for which of the queues that copy, from 1 on; 0: for those that compute
	// The commands of a small batch; copies, since the batch's own lists are reused.
	cmds  []vk.Cmd
	push  []byte
	binds []vk.Bind
	epoch uint64 // of the objects that the commands refer to
}

// remember notes the commands that have been recorded.
func (c *commandBuffer) remember(b *Batch, epoch uint64) {
	c.cmds, c.push, c.binds = c.cmds[:0], c.push[:0], c.binds[:0]
	if b.repeatable() {
		c.cmds, c.push, c.binds = append(c.cmds, b.cmds...), append(c.push, b.Lists.Push...), append(c.binds, b.Lists.Binds...)
		c.epoch = epoch
	}
}

// commandBuffer returns a command buffer that the device does not use, and whether it has
// the commands of the batch already.
func (q *Scheduler) commandBuffer(b *Batch) (c *commandBuffer, recorded bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, copies := 0, b.Submission.Flow.copies
	if b.repeatable() {
		epoch := q.d.Epoch()
		at = slices.IndexFunc(q.spare, func(c *commandBuffer) bool { return c.copies == copies && c.matches(b, epoch) })
		recorded = at >= 0
	}
	oldest := slices.IndexFunc(q.spare, func(c *commandBuffer) bool { return c.copies == copies })
	if at < 0 && len(q.spare)+q.inUse < buffersKept || oldest < 0 {
		handle, r := vk.CreateRecorder(q.d.VK, copies)
		if r != vk.Success {
			return nil, false, q.d.Fail("create a command buffer", r)
		}
		return &commandBuffer{vk: handle, copies: copies}, false, nil
	}
	if !recorded {
		at = oldest
	}
	c = q.spare[at]
	q.spare = slices.Delete(q.spare, at, at+1)
	return c, recorded, nil
}

// record records the commands of a batch.
func (q *Scheduler) record(c *commandBuffer, b *Batch) error {
	epoch := q.d.Epoch()
	c.cmds = c.cmds[:0]
	if f := q.d.Options.Fault.Record; f != nil && f() {
		return q.d.Fail("record commands", vk.ErrorOutOfHostMemory)
	}
	if r := vk.Replay(q.d.VK, c.vk, b.cmds, b.Lists.Push, b.Lists.Binds, b.Timestamps, !b.repeatable()); r != vk.Success {
		return q.d.Fail("record commands", r)
	}
	c.remember(b, epoch)
	q.d.Counts.Recordings.Add(1)
	return nil
}

// giveBack returns a command buffer that was not submitted.
func (q *Scheduler) giveBack(c *commandBuffer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = append(q.spare, c)
}

// CommandBuffers returns how many command buffers there are.
func (q *Scheduler) CommandBuffers() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inUse + len(q.spare)
}
