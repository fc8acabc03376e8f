package fft

import (
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// planLengths is how many lengths of transforms are remembered.
const planLengths = 64

// planPool has transforms of a length that nobody uses. A plan has factors and
// memory of its own, which take as long to make as a line takes to transform.
type planPool struct {
	mu    sync.Mutex
	plans map[int]*sync.Pool
}

var fourierPlans = planPool{plans: make(map[int]*sync.Pool)}

// of returns the plans of a length; the pool that it is in may be forgotten for others.
func (p *planPool) of(length int) *sync.Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pool := p.plans[length]
	if pool == nil {
		if len(p.plans) == planLengths {
			clear(p.plans)
		}
		pool = &sync.Pool{New: func() any { return newTransform(length) }}
		p.plans[length] = pool
	}
	return pool
}

// transform is a plan.
type transform struct{ plan *fourier.CmplxFFT }

func newTransform(length int) *transform { return &transform{fourier.NewCmplxFFT(length)} }
