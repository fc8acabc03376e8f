package exec

// rhythm says where the pending instructions of a lane are cut, so that a stream
// that repeats itself is cut into segments that repeat themselves: their plans are
// then made once. It looks at the forms of instructions alone, and begins anew
// where the client waits for something, so the same stream has the same cuts.
//
// A loop shows in that forms are those of so many instructions before. It is then
// cut at a place that looks like no other one of a round, the same wherever the loop
// is entered. Short loops are cut every few rounds. Without a loop segments have a
// fixed length.
//
// What is cut elsewhere, because the stream fell silent, changes nothing here: the
// segment that follows ends where it would have ended.
type rhythm struct {
	past  *past // nil before the first instruction
	n     int   // instructions so far
	begin int   // those before it began anew

	since  int    // instructions since the last cut
	round  int    // instructions since the loop was cut last
	lag    int    // forms are those of so many instructions before
	run    int    // and have been for so many instructions
	period int    // the length of segments of a loop; 0 where there is none
	mark   uint32 // the place where a loop is cut; 0 where all look like others
	fresh  bool   // the loop has not been cut yet
}

// past is what a rhythm remembers.
type past struct {
	forms [farthest]uint32 // the latest
	seen  [farthest]int    // by the low bits of a place: where it was last, from 1
}

const (
	// longest is how many instructions a segment may have.
	longest = 512
	// steady is for how many instructions a stream has to repeat itself to be a
	// loop, and the least that a segment of one has.
	steady = 32
	// farthest is how far back a rhythm looks, and twice the longest loop. It is a
	// power of two.
	farthest = 2048
)

// reset begins anew.
func (r *rhythm) reset() {
	*r = rhythm{past: r.past, n: r.n, begin: r.n}
}

// cuts reports whether a segment ends before an instruction of this form.
func (r *rhythm) cuts(form uint32) bool { return r.since >= longest || r.turns(form) }

// turns reports whether a loop is cut before an instruction of this form.
func (r *rhythm) turns(form uint32) bool {
	return r.period > 0 && (r.fresh || r.round >= r.period) && (r.mark == 0 || r.place(r.n, form) == r.mark)
}

// step notes an instruction. Forms are above 0.
func (r *rhythm) step(form uint32) {
	if r.past == nil {
		r.past = new(past)
	}
	if r.turns(form) {
		r.since, r.round, r.fresh = 0, 0, false
	} else if r.since >= longest {
		r.since = 0
	}
	seen := &r.past.seen[r.place(r.n, form)%farthest]
	if r.lag > 0 && r.at(r.n-r.lag) == form {
		r.run++
	} else {
		r.lag, r.run, r.period = 0, 0, 0
		if at := *seen - 1; at >= r.begin && r.n-at <= farthest/2 && r.at(at) == form {
			r.lag, r.run = r.n-at, 1
		}
	}
	r.past.forms[r.n%farthest] = form
	r.n++
	*seen = r.n
	r.since++
	r.round++
	if r.period == 0 && r.lag > 0 && r.run >= max(r.lag, steady) {
		r.loop()
	}
}

// at is the form of an instruction that is not farther back than can be seen.
func (r *rhythm) at(i int) uint32 {
	if i < r.begin {
		return 0
	}
	return r.past.forms[i%farthest]
}

// place is what a place looks like: a hash of the form of an instruction and of
// those of the few before it.
func (r *rhythm) place(i int, form uint32) uint32 {
	for k := 1; k <= 3; k++ {
		form = form*0x9e3779b1 + r.at(i-k)
	}
	return form ^ form>>15
}

// loop notes that the stream repeats itself.
func (r *rhythm) loop() {
	r.period = (steady + r.lag - 1) / r.lag * r.lag
	r.fresh, r.mark = true, 0
	times := make(map[uint32]int, r.lag)
	for i := r.n - r.lag; i < r.n; i++ {
		times[r.place(i, r.at(i))]++
	}
	for place, n := range times {
		if n == 1 && (r.mark == 0 || place < r.mark) {
			r.mark = place
		}
	}
}

// looping reports whether the stream repeats itself.
func (r *rhythm) looping() bool { return r.period > 0 }
