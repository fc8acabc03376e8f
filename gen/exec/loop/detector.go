package loop

// Detector says before which instructions of a stream a trace ends. The zero Detector is at
// the beginning of a stream.
type Detector struct {
	past  *past // nil before the first instruction
	n     int   // instructions so far
	begin int   // those before the last Reset

	since  int    // instructions since the last cut
	round  int    // instructions since the loop was cut last
	lag    int    // signatures equal those of so many instructions before
	run    int    // and have done so for so many instructions
	period int    // the length of traces of a loop; 0 where there is none
	mark   uint32 // the hash of the place where a loop is cut; 0 where no place is unique
	fresh  bool   // the loop has not been cut yet
}

// past is what a Detector remembers.
type past struct {
	signatures [farthest]uint32 // the latest
	seen       [farthest]int    // by the low bits of the hash of a place: where it was last, from 1
}

const (
	// longest is how many instructions a trace may have.
	longest = 512
	// steady is for how many instructions a stream has to repeat itself to be a
	// loop, and the shortest trace of a loop.
	steady = 32
	// farthest is how far back a Detector looks, and twice the longest loop. It is a
	// power of two.
	farthest = 2048
)

// Reset begins anew: the client waits for something.
func (d *Detector) Reset() {
	*d = Detector{past: d.past, n: d.n, begin: d.n}
}

// Cuts reports whether a trace ends before an instruction of this signature.
func (d *Detector) Cuts(signature uint32) bool { return d.since >= longest || d.ends(signature) }

// ends reports whether a loop is cut before an instruction of this signature.
func (d *Detector) ends(signature uint32) bool {
	return d.period > 0 && (d.fresh || d.round >= d.period) && (d.mark == 0 || d.hash(d.n, signature) == d.mark)
}

// Step notes an instruction. Signatures are above 0.
func (d *Detector) Step(signature uint32) {
	if d.past == nil {
		d.past = new(past)
	}
	if d.ends(signature) {
		d.since, d.round, d.fresh = 0, 0, false
	} else if d.since >= longest {
		d.since = 0
	}
	seen := &d.past.seen[d.hash(d.n, signature)%farthest]
	if d.lag > 0 && d.at(d.n-d.lag) == signature {
		d.run++
	} else {
		d.lag, d.run, d.period = 0, 0, 0
		if at := *seen - 1; at >= d.begin && d.n-at <= farthest/2 && d.at(at) == signature {
			d.lag, d.run = d.n-at, 1
		}
	}
	d.past.signatures[d.n%farthest] = signature
	d.n++
	*seen = d.n
	d.since++
	d.round++
	if d.period == 0 && d.lag > 0 && d.run >= max(d.lag, steady) {
		d.found()
	}
}

// at returns the signature of an instruction that is not farther back than can be seen.
func (d *Detector) at(i int) uint32 {
	if i < d.begin {
		return 0
	}
	return d.past.signatures[i%farthest]
}

// hash hashes a place in the stream: the signature of its instruction and of the three
// before it.
func (d *Detector) hash(i int, signature uint32) uint32 {
	for k := 1; k <= 3; k++ {
		signature = signature*0x9e3779b1 + d.at(i-k)
	}
	return signature ^ signature>>15
}

// found notes that the stream repeats itself, and where it is cut.
func (d *Detector) found() {
	d.period = (steady + d.lag - 1) / d.lag * d.lag
	d.fresh, d.mark = true, 0
	times := make(map[uint32]int, d.lag)
	for i := d.n - d.lag; i < d.n; i++ {
		times[d.hash(i, d.at(i))]++
	}
	for place, n := range times {
		if n == 1 && (d.mark == 0 || place < d.mark) {
			d.mark = place
		}
	}
}

// Looping reports whether the stream repeats itself.
func (d *Detector) Looping() bool { return d.period > 0 }
