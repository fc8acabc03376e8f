package sample

import (
	"encoding/binary"
	"errors"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Leapfrog takes the steps of a request with the kernel of a program, after
// everything that the session asked for before.
func (s *Sampler) Leapfrog(q *exec.Queue, c *wire.Leapfrog, done func(Rows, error)) {
	in := &wire.Instr{Name: "leapfrog", Instr: ops.Instr{Op: ops.Run, Ins: c.Data}, Defines: wire.Defines{Key: c.Program}}
	s.e.DoWith(q, in, func(q *exec.Queue) (wait queue.Wait) {
		d, wait, err := s.density(q, in, &c.Density)
		if wait != 0 {
			return wait
		}
		if err == nil {
			wait, err = s.takeSteps(q, d, c, done)
		}
		if wait != 0 {
			return wait
		}
		if err != nil {
			done(Rows{}, err)
		}
		return 0
	})
}

// takeSteps takes the steps of a request. The kernel finds the gradients where
// it begins.
func (s *Sampler) takeSteps(q *exec.Queue, d *density, c *wire.Leapfrog, done func(Rows, error)) (queue.Wait, error) {
	if err := d.device(); errors.Is(err, synth.ErrUnsupported) {
		return s.stepsOnHost(q, d, c, done)
	} else if err != nil {
		return 0, err
	}
	b := s.newBatcher(d, 1)
	s.leapfrogRows(d, b.data, requested(c), func(r Rows, err error) {
		b.end()
		if kernels.Refused(err) {
			// Its turn is over: where memory has to be waited for, the refusal is the error.
			wait, failed := s.stepsOnHost(q, d, c, done)
			if wait == 0 && failed == nil {
				return
			}
			err = errors.Join(err, failed)
		}
		done(r, err)
	})
	return 0, nil
}

// requested are the instances of a request as a kernel takes them. Their
// gradients are not known.
func requested(c *wire.Leapfrog) stepInputs {
	var many []byte
	for range c.N {
		many = binary.LittleEndian.AppendUint32(many, uint32(c.K))
	}
	numbers := func(xs []float64) []byte { return AppendFloats(nil, c.Type, xs) }
	return stepInputs{
		steps: synth.Leapfrog{Instances: c.N, Rows: c.K, Fresh: true},
		operands: [6][]byte{numbers(c.Q), numbers(c.P), nil, numbers(c.Metric),
			numbers(slices.Repeat([]float64{c.Step}, c.N)), many},
	}
}

// rowsOf joins the states of instances.
func rowsOf(all [][]nuts.State, t ops.DType) (r Rows) {
	for _, states := range all {
		for _, s := range states {
			r.Q, r.P = AppendFloats(r.Q, t, s.Q), AppendFloats(r.P, t, s.P)
			r.Grad, r.LogP = AppendFloats(r.Grad, t, s.Grad), AppendFloats(r.LogP, t, []float64{s.LogP})
		}
	}
	return r
}

// stepsOnHost takes the steps of a request on the host, apart from the goroutine
// of the Executor. It takes memory for the states and for the rows that are made of them.
func (s *Sampler) stepsOnHost(q *exec.Queue, d *density, c *wire.Leapfrog, done func(Rows, error)) (queue.Wait, error) {
	give, wait, err := s.e.TakeHost(q, 2*8*int64(c.N)*int64(c.K)*int64(3*c.Dim+1))
	if wait != 0 || err != nil {
		return wait, err
	}
	all := make([][]nuts.State, c.N)
	s.e.Aside(q, workLeapfrog, func(w *sched.Worker) (failed error) {
		for i := range all {
			h := d.hosted()
			h.worker = w
			s, err := h.Start(w.Context(), c.Q[i*c.Dim:(i+1)*c.Dim])
			if err == nil {
				s.P = c.P[i*c.Dim : (i+1)*c.Dim]
				for len(all[i]) < c.K && err == nil {
					var next [][]nuts.State
					segment := nuts.Segment{From: s, Eps: c.Step, Steps: 1}
					if next, err = h.Steps(w.Context(), c.Metric[i*c.Dim:(i+1)*c.Dim], []nuts.Segment{segment}); err == nil {
						s = &next[0][0]
						all[i] = append(all[i], *s)
					}
				}
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}, func(err error) {
		give()
		done(rowsOf(all, c.Type), err)
	})
	return 0, nil
}
