package wire

import (
	"fmt"
	"math"
	"slices"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// The bounds of a request for leapfrog steps.
const (
	MaxSteps = 1 << 12 // of an instance
	MaxRows  = 1 << 20 // steps of all instances
)

// Leapfrog is a request for leapfrog steps of a density that is a program.
type Leapfrog struct {
	Density
	N, K         int // instances and steps
	Step         float64
	Q, P, Metric []float64 // of each instance
}

// decodeLeapfrog reads {leapfrog, Options}.
func decodeLeapfrog(t etf.Term) (*Leapfrog, error) {
	l := &Leapfrog{Density: Density{Type: ops.F64}, N: 1, Step: math.NaN()}
	if err := eachOption("leapfrog", t, l.set); err != nil {
		return nil, err
	}
	return l, l.check()
}

func (l *Leapfrog) set(name string, v etf.Term) (err error) {
	if known, err := l.Density.set(name, v); known {
		return err
	}
	switch name {
	case "n":
		l.N, err = between(v, 1, MaxChains)
	case "k":
		l.K, err = between(v, 1, MaxSteps)
	case "eps":
		l.Step, err = float(v)
	case "q":
		l.Q, err = doubles(v)
	case "p":
		l.P, err = doubles(v)
	case "metric":
		l.Metric, err = doubles(v)
	default:
		err = bad("is not an option of leapfrog; gen/README.md lists them")
	}
	return err
}

// check refuses a request that lacks options or data. It fills in a metric of ones.
func (l *Leapfrog) check() error {
	switch {
	case l.Program == "" || l.Dim == 0 || l.K == 0:
		return bad("leapfrog needs the options program, dim and k")
	case math.IsNaN(l.Step) || math.IsInf(l.Step, 0) || l.Step == 0:
		return bad("leapfrog needs the option eps, a number that is not 0")
	case l.K > MaxRows/l.N:
		return bad(fmt.Sprintf("%d steps of %d instances; a call has at most %d rows", l.K, l.N, MaxRows))
	}
	for _, x := range []struct {
		name string
		data []float64
	}{{"q", l.Q}, {"p", l.P}, {"metric", l.Metric}} {
		if x.name == "metric" && x.data == nil {
			l.Metric = slices.Repeat([]float64{1}, l.N*l.Dim) // as long as q, which is there
			continue
		}
		if len(x.data) != l.N*l.Dim {
			return &Fault{BadArgument, fmt.Errorf("%s has %d numbers, %d instances of %d parameters need %d", x.name, len(x.data), l.N, l.Dim, l.N*l.Dim)}
		}
		for _, v := range x.data {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return &Fault{BadArgument, fmt.Errorf("%s must be finite numbers, has %v", x.name, v)}
			}
		}
	}
	return nil
}
