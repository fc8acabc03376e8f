package synth

import (
	"errors"
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/synth/lowering"
)

// Place is who carries out an operation.
type Place uint8

// The places.
const (
	OnDevice Place = iota
	OnHost
	Refused
)

func (p Place) String() string { return [...]string{"device", "host", "refused"}[p] }

// Support says who carries out an operation on operands of a type where t is the
// device, and why the device does not. t may be nil, for a machine without one;
// host says why the host does not. The answer holds for the example of the
// operation; other sizes and attributes may differ.
func Support(op ops.Op, d ops.DType, t *lowering.Target, host func(ops.Op, ops.DType) error) (Place, string) {
	in, types, ok := example.Of(op, d)
	if !ok {
		return Refused, "it computes nothing"
	}
	if err := in.Check(types); err != nil {
		return Refused, plain(err, op, d)
	}
	reason := "there is no device"
	if t != nil {
		_, err := Lower(in, types, t)
		if err == nil {
			return OnDevice, ""
		}
		if !errors.Is(err, lowering.ErrUnsupported) {
			return Refused, plain(err, op, d)
		}
		reason = plain(err, op, d)
	}
	if err := host(op, d); err != nil {
		return Refused, plain(err, op, d)
	}
	return OnHost, reason
}

// plain is an error without the names of operation and type, so that reasons of
// several types are the same.
func plain(err error, op ops.Op, d ops.DType) string {
	reason := err.Error()
	if _, rest, ok := strings.Cut(reason, lowering.ErrUnsupported.Error()+": "); ok {
		reason = rest
	}
	reason = strings.TrimPrefix(reason, fmt.Sprintf("%v of %v: ", op, d))
	reason = strings.TrimPrefix(reason, op.String()+" ")
	if reason == d.String() {
		return "no code for it"
	}
	return strings.ReplaceAll(strings.TrimSuffix(reason, ", is "+d.String()), d.String(), "it")
}
