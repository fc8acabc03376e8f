package exec

import (
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// A run goes on with the result of a collective before that is there. The device has memory for it, and waits for the
// ranks by itself: what it is given meanwhile, of this run and of those behind it, waits for its turn until all has been submitted
// that writes the result (vulkan.Promise). So the host records a step of training while the gradients of the one before are
// summed. If the collective fails, all that is computed from its result carries the error, like that of a check.
//
// The run gets the result no sooner than all ranks have entered the collective. Then the device has been given what makes the
// operands, ahead of anything that waits for the result: ranks do not wait for each other, in whatever order they have their runs.

// loan is a result that a run has before it is there.
type loan struct {
	promise *vulkan.Promise
	check   *store.Check // that what is computed from it carries
}

// lend gives the run the result, so that it does not wait for that. It reports false where the run has to wait: for other ranks,
// for a result that the host gets, or because the result, or an error, is there.
func (x *collective) lend() bool {
	if !x.met || x.feed == nil || x.copied || x.err != nil || x.ended {
		return false
	}
	x.sharing.feed(x.owner).Flush()
	writers := []*vulkan.Stream{x.feed.Stream()}
	if x.rank != nil {
		writers = append(writers, x.rank.Streams()...)
	}
	x.lent = &loan{x.mem.Dev.Promise(writers...), &store.Check{}}
	x.mem.Checks = x.mem.Checks.With(store.Checks{x.lent.check})
	x.sharing.counters.Lent++
	id := x.in.Outs[0].ID
	delete(x.run.coming, id)
	x.run.set(id, x.value())
	x.bound() // the deadline of the session, which the run may not live to see
	return true
}

// end says that the result is there, or never will be.
func (l *loan) end(err error) {
	l.promise.Keep()
	l.check.Settle(err)
}
