package nuts

// mostDepth bounds how often a trajectory doubles.
const mostDepth = 20

// recent is how many trajectories a chain remembers, about.
const recent = 16

// reach is how far trajectories have gone of late. Draws do not depend on it.
type reach struct {
	began [mostDepth]float64 // the share of trajectories that began doubling i, the latest ones counting most
}

func newReach() (r reach) {
	share := 1.0
	for i := range r.began {
		r.began[i] = share
		share /= 2
	}
	return r
}

// learn notes a trajectory that began so many doublings.
func (r *reach) learn(doublings int) {
	for i := range r.began {
		share := 0.0
		if i < doublings {
			share = 1
		}
		r.began[i] += (share - r.began[i]) / recent
	}
}

// depth is up to which depth steps are worth taking at once, where a doubling begins
// after so many others; most bounds it. The steps of one more doubling, 2^i, are lost
// where it does not begin; where it does, a call is saved.
func (r *reach) depth(doublings, most int, callCost float64) int {
	to := doublings + 1
	for to < most {
		chance, steps := r.began[to]/r.began[doublings], float64(uint64(1)<<to)
		if !(chance*callCost > (1-chance)*steps) {
			break
		}
		to++
	}
	return to
}
