package sample

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/nuts"
	"nxvk/vulkan"
)

// maxRows bounds the steps of a segment in a dispatch: where a trajectory turns, the rest of
// the doubling is in vain.
const maxRows = 256

// maxBytes bounds the positions that a dispatch writes, and its momenta and gradients.
const maxBytes = 64 << 20

// gatherTime is how long chains that wait for steps wait for others to come
// along.
const gatherTime = 200 * time.Microsecond

// batcher takes the steps of the chains of a run on the device. All but Start, Steps and
// CallCost is for the goroutine of the Executor.
type batcher struct {
	s       *Sampler
	d       *density
	data    *deviceData
	rows    int // bounds the steps of a segment
	cost    float64
	chains  int // that have not ended
	waiting []*stepRequest
	timer   bool

	refused atomic.Bool // the driver does not compile the kernel: chains compute themselves
	hosts   sync.Pool   // of densities, for these
}

// stepRequest is what a chain waits for.
type stepRequest struct {
	segments []instance
	reply    chan stepResult
}

type stepResult struct {
	states [][]nuts.State // of each segment
	err    error
}

// newBatcher brings the data of a density to the device.
func (s *Sampler) newBatcher(d *density, chains int) *batcher {
	most := maxBytes / (2 * chains * d.typ.Bytes()) // of two segments a chain
	l := &batcher{s: s, d: d, chains: chains, rows: max(1, min(maxRows, most)), cost: s.callCost(d), data: &deviceData{}}
	for _, x := range d.data {
		l.data.host = append(l.data.host, x.Data)
	}
	l.data.dev = make([]*vulkan.Buffer, len(l.data.host))
	return l
}

// end notes the end of a chain; the last one frees the data.
func (l *batcher) end() {
	if l.chains--; l.chains == 0 {
		l.data.free()
		return
	}
	l.dispatchFull()
}

// Start computes density and gradient on the host: the device is asked for steps
// alone.
func (l *batcher) Start(ctx context.Context, q []float64) (*nuts.State, error) {
	return l.d.hosted().Start(ctx, q)
}

// CallCost is what dispatching costs, in steps.
func (l *batcher) CallCost() float64 { return l.cost }

// Steps waits for steps of a chain. The segments are workgroups that run side by side.
func (l *batcher) Steps(ctx context.Context, metric []float64, segments []nuts.Segment) ([][]nuts.State, error) {
	if l.refused.Load() {
		return l.onHost(ctx, metric, segments)
	}
	w := &stepRequest{reply: make(chan stepResult, 1)}
	for _, g := range segments {
		w.segments = append(w.segments, newInstance(l.d.typ.DType, g, metric, min(g.Steps, l.rows)))
	}
	l.s.e.Post(func() { l.add(w) })
	select {
	case r := <-w.reply:
		if kernels.Refused(r.err) {
			l.refused.Store(true)
			return l.onHost(ctx, metric, segments)
		}
		return r.states, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// onHost takes a step on the goroutine of the chain.
func (l *batcher) onHost(ctx context.Context, metric []float64, segments []nuts.Segment) ([][]nuts.State, error) {
	h, ok := l.hosts.Get().(*hosted)
	if !ok {
		h = l.d.hosted()
	}
	defer l.hosts.Put(h)
	return h.Steps(ctx, metric, segments)
}

// add gathers what chains wait for.
func (l *batcher) add(w *stepRequest) {
	l.waiting = append(l.waiting, w)
	if l.dispatchFull() || l.timer {
		return
	}
	l.timer = true
	time.AfterFunc(gatherTime, func() {
		l.s.e.Post(func() {
			l.timer = false
			l.dispatchAll()
		})
	})
}

// dispatchFull dispatches when all chains wait.
func (l *batcher) dispatchFull() bool {
	if len(l.waiting) == 0 || len(l.waiting) < l.chains {
		return false
	}
	l.dispatchAll()
	return true
}

// dispatchAll takes the steps that chains wait for.
func (l *batcher) dispatchAll() {
	batch := l.waiting
	l.waiting = nil
	if len(batch) == 0 {
		return
	}
	var segments []instance
	for _, w := range batch {
		segments = append(segments, w.segments...)
	}
	for _, g := range segments {
		l.s.e.CountSteps(g.steps)
	}
	l.s.leapfrog(l.d, l.data, segments, func(states [][]nuts.State, err error) {
		for _, w := range batch {
			r := stepResult{err: err}
			if n := len(w.segments); err == nil {
				r.states, states = states[:n], states[n:]
			}
			w.reply <- r
		}
	})
}
