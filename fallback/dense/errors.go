package dense

import (
	"errors"
)

// ErrUnsupported is wrapped for operations of control, which the executor carries out.
var ErrUnsupported = errors.New("not computed by this node")

// ErrComplex is wrapped where an operation has no meaning for complex numbers.
var ErrComplex = errors.New("not defined for complex numbers")
