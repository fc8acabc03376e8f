package vulkan

import (
	"bytes"
	"slices"

	"nxvk/vulkan/vk"
)

// A stream of small batches mostly repeats itself: the same kernel on the same
// memory, since what a round frees the next one gets. To record a command takes
// as long as to submit it (5 µs each on an H200), so a command buffer that says
// what a small batch says is submitted again.

// recordersKept is how many command buffers there are before one that says
// something else is recorded anew.
const recordersKept = 8

// recorder is a command buffer with its pools.
type recorder struct {
	vk vk.Recorder
	// What it says, where that was a small batch: these and not the batch's own,
	// which are used again.
	cmds  []vk.Cmd
	push  []byte
	binds []vk.Bind
	epoch uint64 // of what the commands refer to
}

// repeatable reports whether a command buffer of the batch may be worth keeping.
func (b *batch) repeatable() bool {
	return len(b.cmds) <= promptSize && len(b.cmds) == len(b.lists.cmds) && b.queries == 0
}

// says reports whether the command buffer is one of this batch.
func (r *recorder) says(b *batch, epoch uint64) bool {
	return len(r.cmds) > 0 && r.epoch == epoch && slices.Equal(r.cmds, b.cmds) &&
		bytes.Equal(r.push, b.lists.push) && slices.Equal(r.binds, b.lists.binds)
}

// note remembers what has been recorded.
func (r *recorder) note(b *batch, epoch uint64) {
	r.cmds, r.push, r.binds = r.cmds[:0], r.push[:0], r.binds[:0]
	if b.repeatable() {
		r.cmds, r.push, r.binds = append(r.cmds, b.cmds...), append(r.push, b.lists.push...), append(r.binds, b.lists.binds...)
		r.epoch = epoch
	}
}

// forget makes no command buffer count as recorded: something they may refer to
// is about to be destroyed.
func (q *queue) forget() { q.epoch.Add(1) }

// recorder returns a command buffer that the device does not use, and whether it
// says what the batch says.
func (q *queue) recorder(b *batch) (r *recorder, said bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := 0
	if b.repeatable() {
		epoch := q.epoch.Load()
		at = slices.IndexFunc(q.spare, func(r *recorder) bool { return r.says(b, epoch) })
		said = at >= 0
	}
	if at < 0 && len(q.spare)+q.inUse < recordersKept || len(q.spare) == 0 {
		r, err = q.newRecorder()
		return r, false, err
	}
	at = max(at, 0) // the one whose use is longest ago
	r = q.spare[at]
	q.spare = slices.Delete(q.spare, at, at+1)
	return r, said, nil
}

func (q *queue) newRecorder() (*recorder, error) {
	handle, r := vk.CreateRecorder(q.d.dev)
	if r != vk.Success {
		return nil, q.d.fail("create a command buffer", r)
	}
	return &recorder{vk: handle}, nil
}

// giveBack returns a recorder that was not submitted.
func (q *queue) giveBack(r *recorder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = append(q.spare, r)
}
