package placement

import (
	"errors"

	"nxvk/fallback"
	"nxvk/gen/wire"
)

// Fault gives an error of package fallback its kind.
func Fault(err error) error {
	kind := wire.BadArgument
	if errors.Is(err, fallback.ErrUnsupported) {
		kind = wire.Unsupported
	}
	return &wire.Fault{Kind: kind, Err: err}
}
