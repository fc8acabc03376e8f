package sample

import (
	"math"
	"testing"
	"time"

	"nxvk/gen/nuts"
	"nxvk/gen/wire"
)

// TestSummarize: the summary of each parameter comes in order; one that is stopped says
// so, and one whose session is gone tells nobody.
func TestSummarize(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	data := make([]float64, 3*2*50)
	for i := range data {
		data[i] = math.Sin(float64(i * i))
	}
	s := &wire.Summary{Chains: 2, Draws: 50, Data: data}
	var got []nuts.Summary
	var failed error
	answers := 0
	ask := func() {
		r.sampler.Summarize(q, s, func(list []nuts.Summary, err error) { got, failed, answers = list, err, answers+1 })
	}
	ask()
	r.Until(func() bool { return answers == 1 })
	if failed != nil || len(got) != 3 {
		t.Fatalf("%d summaries, %v", len(got), failed)
	}
	for i, s := range got {
		at := 100 * i
		if want := nuts.Summarize([][]float64{data[at : at+50], data[at+50 : at+100]}); s != want {
			t.Errorf("parameter %d: %+v, want %+v", i, s, want)
		}
	}
	s.Data = make([]float64, 1<<20) // of many parameters
	ask()
	for run := range runsOf(q).active {
		if r.sampler.More(q, run, 1) {
			t.Error("a summary takes credit")
		}
		r.sampler.Stop(q, run)
	}
	r.Until(func() bool { return answers == 2 })
	if wire.KindOf(failed) != wire.Cancelled {
		t.Errorf("a summary that was stopped ended with %v", failed)
	}
	ask()
	r.Exec.End(q.Session)
	r.Settle(20 * time.Millisecond)
	if answers > 2 {
		t.Error("a session that is gone was answered")
	}
}
