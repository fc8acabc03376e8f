package lowering

import (
	"errors"
	"fmt"

	"nxvk/ops"
)

// ErrBindingTooShort is wrapped by the errors of kernels with a buffer that is longer
// than a binding.
var ErrBindingTooShort = fmt.Errorf("%w: a buffer is longer than a binding", ErrUnsupported)

// WithBindings calls lower for an instruction or a fusion with the given operands and
// results. A binding covers at most MaxBinding bytes, so a plan with a longer buffer
// uses addresses if the device has them. Both give the same bits. Without addresses
// the error wraps ErrUnsupported.
func (t *Target) WithBindings(lower func(t *Target) (*Plan, error), buffers ...ops.Type) (*Plan, error) {
	if t.Addresses || t.MaxBinding == 0 {
		return lower(t)
	}
	if longest := longestOf(buffers); longest > t.MaxBinding {
		if !t.Addressable {
			return nil, fmt.Errorf("%w: %d of %d bytes", ErrBindingTooShort, longest, t.MaxBinding)
		}
		return lower(t.WithAddresses())
	}
	p, err := lower(t)
	if err == nil {
		err = t.bindTemps(p)
	}
	if !errors.Is(err, ErrBindingTooShort) {
		return p, err
	}
	if !t.Addressable {
		return nil, err
	}
	return lower(t.WithAddresses())
}

// WithAddresses is the target with addresses in place of bindings.
func (t *Target) WithAddresses() *Target {
	a := *t
	a.Addresses = true
	return &a
}

// bindTemps returns an error if a temporary of a plan is longer than a binding.
func (t *Target) bindTemps(p *Plan) error {
	for _, n := range p.Temps {
		if n > t.MaxBinding {
			return fmt.Errorf("%w: %d of %d bytes", ErrBindingTooShort, n, t.MaxBinding)
		}
	}
	return nil
}

// longestOf is the bytes of the longest tensor.
func longestOf(types []ops.Type) (most int64) {
	for _, t := range types {
		most = max(most, int64(t.Bytes()))
	}
	return most
}
