package fallback

import "errors"

var (
	// ErrUnsupported is wrapped for operations of control, which the executor carries out.
	ErrUnsupported = errors.New("not computed by this node")

	// ErrIndex is wrapped where an index lies outside of a tensor.
	ErrIndex = errors.New("out of bounds")

	// ErrSingular is returned where a system has no solution.
	ErrSingular = errors.New("can't solve for singular matrix")

	// ErrComplex is wrapped where an operation has no meaning for complex
	// numbers.
	ErrComplex = errors.New("not defined for complex numbers")
)
