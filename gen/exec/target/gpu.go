package target

import (
	"nxvk/ops"
	"nxvk/synth"
)

// GPU is a GPU with the features and limits of an H200, to plan for where there is none.
func GPU() *synth.Target {
	t := &synth.Target{
		Addresses: true, Addressable: true,
		Float64: true, Int64: true, Int16: true, Int8: true, Float16: true, Storage16: true, Storage8: true,
		Preserve32: true, Preserve64: true, RoundEven32: true, RoundEven64: true, Denorm32: true, Denorm64: true,
		PreciseDiv: true, Subnormals: true, Exp2: true, Halves: true, RoundHalf: true,
		SharedMemory: 48 << 10, MaxInvocations: 1024, SubgroupSize: 32, SubgroupOps: true, MaxPush: 256,
		MaxGroups: [3]uint32{1<<31 - 1, 65535, 65535}, MaxBinding: 1<<32 - 1,
	}
	for _, d := range []ops.DType{ops.BF16, ops.F16, ops.S8, ops.U8} {
		t.Matrices = append(t.Matrices, synth.Matrix{Type: d, M: 16, N: 16, K: 32 / d.Size()})
	}
	t.Alike = t.Matrices
	return t
}

// Seconds estimates how long GPU takes for a step of a plan.
func Seconds(s *synth.Step) float64 {
	const bytesPerSecond, onHardware, launch = 4e12, 280e12, 2e-6
	flopsPerSecond := 50e12
	if s.Kernel.OnMatrices() {
		flopsPerSecond = onHardware
	}
	return launch + max(float64(s.Bytes)/bytesPerSecond, float64(s.Flops)/flopsPerSecond)
}
