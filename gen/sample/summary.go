package sample

import (
	"context"
	"errors"
	"fmt"

	"nxvk/gen/exec"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
)

// Summarize gives the summaries of parameters, in order. It computes apart from the
// goroutine of the Executor, and ends with the session.
func (s *Sampler) Summarize(q *exec.Queue, r *wire.Summary, done func([]nuts.Summary, error)) {
	session, run := beginRun(q, nil)
	ctx, stop := context.WithCancel(session)
	run.stop = stop
	go func() {
		var list []nuts.Summary
		err := guard(func() (err error) {
			list, err = summarize(ctx, r)
			return err
		})
		s.e.Post(func() {
			if errors.Is(err, context.Canceled) {
				err = &wire.Fault{Kind: wire.Cancelled, Err: errors.New("the run was stopped")}
			}
			if session.Err() == nil {
				done(list, err)
			}
			runsOf(q).end(run)
		})
	}()
}

func summarize(ctx context.Context, s *wire.Summary) (list []nuts.Summary, err error) {
	for at := 0; at < len(s.Data); {
		chains := make([][]float64, s.Chains)
		for i := range chains {
			chains[i], at = s.Data[at:at+s.Draws], at+s.Draws
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, nuts.Summarize(chains))
	}
	return list, nil
}

// guard calls f and makes an error of a panic.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return f()
}
