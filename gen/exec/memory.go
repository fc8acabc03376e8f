package exec

import (
	"maps"
	"slices"

	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// newMemory has the members of an Executor give and free memory.
func (e *Executor) newMemory() *memory.Manager[*Queue] {
	return memory.NewManager(memory.ManagerConfig[*Queue]{
		Device: e.dev, Post: e.cfg.Post, Flush: e.Flush, Error: e.DeviceError, Resume: e.Resume, AwaitChecks: e.checker.await,
		Session:  func(l *Queue) *store.Session { return l.Session },
		Claim:    func(l *Queue) *memory.Claim { return &l.claim },
		Alloc:    func(l *Queue, n int) (*vulkan.Buffer, error) { return e.Feed(l).TryAlloc(n) },
		Sessions: func(yield func(*store.Session) bool) { maps.Keys(e.queues)(yield) },
		Pending:  func() bool { return len(e.recorder.gathering) > 0 }, // who asks is not among them: it carries something out
		RunPending: func() {
			for _, g := range slices.Clone(e.recorder.gathering) {
				e.recorder.flushTrace(g)
			}
		},
	}, e.cfg.Host, e.cfg.Sweep)
}

// hostResults makes memory on the host for the results of work.
func (e *Executor) hostResults(l *Queue, w *placement.Work) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := e.memory.Reserve(l, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for _, r := range w.In.Outs {
		m, wait, err := e.memory.OnHost(l, r.Type.Bytes())
		if wait != 0 || err != nil {
			dropAll(mems)
			return nil, wait, err
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

func dropAll(mems []*store.Storage) {
	for _, m := range mems {
		m.Drop()
	}
}
