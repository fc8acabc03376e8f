package nuts

// mostDepth bounds how often a trajectory doubles.
const mostDepth = 20

// recent is about how many trajectories a chain remembers.
const recent = 16

// depthPredictor predicts the depth of a trajectory from those of recent ones. Draws do not
// depend on it: it only decides how many steps are asked for at once.
type depthPredictor struct {
	began [mostDepth]float64 // the share of trajectories that began doubling i; recent ones count more
}

func newDepthPredictor() (p depthPredictor) {
	share := 1.0
	for i := range p.began {
		p.began[i] = share
		share /= 2
	}
	return p
}

// learn notes a trajectory that began so many doublings.
func (p *depthPredictor) learn(doublings int) {
	for i := range p.began {
		share := 0.0
		if i < doublings {
			share = 1
		}
		p.began[i] += (share - p.began[i]) / recent
	}
}

// depth is the depth up to which steps are worth taking at once, after so many doublings;
// most bounds it. If doubling i does not begin, its 2^i steps are lost; if it begins, a
// call is saved.
func (p *depthPredictor) depth(doublings, most int, callCost float64) int {
	to := doublings + 1
	for to < most {
		chance, steps := p.began[to]/p.began[doublings], float64(uint64(1)<<to)
		if !(chance*callCost > (1-chance)*steps) {
			break
		}
		to++
	}
	return to
}
