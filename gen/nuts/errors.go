package nuts

import "errors"

var (
	// ErrOptions is wrapped where an option is out of its range.
	ErrOptions = errors.New("bad option of the sampler")

	// ErrDensity is wrapped where a density cannot be sampled.
	ErrDensity = errors.New("the density cannot be sampled")
)

// noStart is why no trajectory can set out from a position, where one can from others.
type noStart struct{ error }

func (e noStart) Unwrap() error { return e.error }
