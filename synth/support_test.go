package synth

import (
	"errors"
	"testing"

	"nxvk/ops"
)

func TestSupport(t *testing.T) {
	able := func(ops.Op, ops.DType) error { return nil }
	unable := func(ops.Op, ops.DType) error { return errors.New("nobody") }
	bare := *gpu
	bare.Float64, bare.Int64 = false, false
	for _, c := range []struct {
		op     ops.Op
		d      ops.DType
		target *Target
		host   func(ops.Op, ops.DType) error
		want   Place
	}{
		{ops.Add, ops.F32, gpu, able, OnDevice},
		{ops.Add, ops.F64, gpu, able, OnDevice},
		{ops.Add, ops.F64, &bare, able, OnHost},
		{ops.Add, ops.F64, &bare, unable, Refused},
		{ops.Add, ops.F32, nil, able, OnHost},
		{ops.BitwiseAnd, ops.F32, gpu, able, Refused},
		{ops.Free, ops.F32, gpu, able, Refused},
	} {
		got, reason := Support(c.op, c.d, c.target, c.host)
		if got != c.want || (reason == "") != (got == OnDevice) {
			t.Errorf("%v of %v: %v (%s), want %v", c.op, c.d, got, reason, c.want)
		}
	}
}
