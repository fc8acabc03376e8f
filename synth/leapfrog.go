package synth

import "nxvk/synth/leapfrog"

// Leapfrog steps of a sampler; see package leapfrog.
type (
	Density  = leapfrog.Density
	Leapfrog = leapfrog.Leapfrog
)

// NewDensity and LowerLeapfrog are those of package leapfrog.
var (
	NewDensity    = leapfrog.NewDensity
	LowerLeapfrog = leapfrog.LowerLeapfrog
)
