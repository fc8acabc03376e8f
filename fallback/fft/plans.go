package fft

import (
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// planLengths is the number of lengths whose plans are kept.
const planLengths = 64

// planPool keeps plans by length. To make a plan, with its factors and memory, takes as long
// as to transform a line.
type planPool struct {
	mu    sync.Mutex
	plans map[int]*sync.Pool
}

var fourierPlans = planPool{plans: make(map[int]*sync.Pool)}

// of returns the pool of plans of a length. When there are too many lengths all are dropped.
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

// transform is a plan of one length.
type transform struct{ plan *fourier.CmplxFFT }

func newTransform(length int) *transform { return &transform{fourier.NewCmplxFFT(length)} }
