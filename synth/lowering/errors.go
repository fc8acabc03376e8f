package lowering

import (
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by every error that says that a device cannot carry
// out an instruction. It is the only one after which the host may try.
var ErrUnsupported = errors.New("unsupported on this device")

// Unsupported returns an error that wraps ErrUnsupported, with a reason.
func Unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}
