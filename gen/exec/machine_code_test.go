package exec

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"testing"

	"nxvk/gen/exec/kernels"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// The driver of a processor makes machine code of a kernel where that first runs, and whatever is behind it on the
// device waits meanwhile. Kernels that the host does not interpret have theirs made before their first dispatch,
// whether they reach their operands by bindings or by addresses. So other sessions are answered: the
// host computes in the device's stead while machine code is made.
func TestMachineCodeComesFirst(t *testing.T) {
	for name, addresses := range map[string]bool{"device": false, "addresses": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, device(t, vulkan.Options{}))
			if !r.exec.core.target.CPU || r.exec.core.target.Rounds == synth.Unlike {
				t.Skip("the driver makes machine code with the pipeline, or the host computes otherwise")
			}
			if addresses && !r.Dev.Info().Features.BufferDeviceAddress {
				t.Skip("the device has no buffer addresses")
			}
			r.exec.core.target.Addresses = addresses
			r.exec.core.cfg.OneByOne, r.exec.kernels.WarmUp = true, true
			q := r.session()
			const n = 1 << 21 // so many that the host does not interpret it
			x, y := f32(n), ops.Type{DType: ops.C128, Shape: ops.Shape{n}}
			r.Do(q, ops.Iota, 1, x, [][]int{{-1}})
			r.Do(q, ops.AsType, 2, y, nil, ref(1))
			r.Do(q, ops.Acosh, 3, y, nil, ref(2))
			got, err := r.bytesOf(q, 3)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []complex128{complex(0, math.Pi/2), 0, complex(math.Acosh(2), 0)} {
				v := complex(math.Float64frombits(binary.LittleEndian.Uint64(got[16*i:])), math.Float64frombits(binary.LittleEndian.Uint64(got[16*i+8:])))
				if cmplx.Abs(v-want) > 1e-12 {
					t.Errorf("acosh(%d) is %v, want %v", i, v, want)
				}
			}
			ran := 0
			r.exec.kernels.Each(func(k *kernels.Kernel) {
				if k.Activity().Dispatches == 0 {
					return
				}
				ran++
				if !k.Ahead() {
					t.Errorf("the device ran %s before it had made machine code of it", k.Kernel.Name)
				}
			})
			if ran == 0 || r.exec.Counters().Dispatches == 0 {
				t.Error("the device ran nothing")
			}
		})
	}
}
