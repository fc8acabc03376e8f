package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
)

// checks lists the checks of a job, in the order of the buffers of their words, which are
// behind those of the sources.
func (j *Job) checks() (list []int) {
	for i := range j.Sources {
		if s := &j.Sources[i]; s.Kind == codegen.FromCheck && !slices.Contains(list, s.Check) {
			list = append(list, s.Check)
		}
	}
	return list
}

// check fails the check of source i unless its indices are within bounds, which are those of
// all points of the step or of each. It gives nothing that is used.
func (w *Writer) check(i int) []kernel.Value {
	s, h := &w.job.Sources[i], &w.places[i].shifts[0]
	var failed kernel.Value
	for k, x := range w.loaded[h.from] {
		if out := w.Outside(x, h.limit); k == 0 {
			failed = out
		} else {
			failed = w.Or2(failed, out)
		}
	}
	w.Fail(w.buffer(len(w.job.Sources))+slices.Index(w.job.checks(), s.Check), failed)
	return []kernel.Value{w.Index(0)}
}
