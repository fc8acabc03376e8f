package synth_test

import (
	"errors"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

func TestSupport(t *testing.T) {
	able := func(ops.Op, ops.DType) error { return nil }
	unable := func(ops.Op, ops.DType) error { return errors.New("nobody") }
	bare := *synthtest.GPU
	bare.Float64, bare.Int64 = false, false
	for _, c := range []struct {
		op     ops.Op
		d      ops.DType
		target *lowering.Target
		host   func(ops.Op, ops.DType) error
		want   synth.Place
	}{
		{ops.Add, ops.F32, synthtest.GPU, able, synth.OnDevice},
		{ops.Add, ops.F64, synthtest.GPU, able, synth.OnDevice},
		{ops.Add, ops.F64, &bare, able, synth.OnHost},
		{ops.Add, ops.F64, &bare, unable, synth.Refused},
		{ops.Add, ops.F32, nil, able, synth.OnHost},
		{ops.BitwiseAnd, ops.F32, synthtest.GPU, able, synth.Refused},
		{ops.Free, ops.F32, synthtest.GPU, able, synth.Refused},
	} {
		got, reason := synth.Support(c.op, c.d, c.target, c.host)
		if got != c.want || (reason == "") != (got == synth.OnDevice) {
			t.Errorf("%v of %v: %v (%s), want %v", c.op, c.d, got, reason, c.want)
		}
	}
}
