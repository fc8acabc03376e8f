package target

import (
	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Support says who carries out an operation on operands of a type with a device,
// and why the device does not. Without one info is nil.
func Support(info *vulkan.Info, op ops.Op, d ops.DType) (synth.Place, string) {
	if info == nil {
		return synth.Support(op, d, nil, fallback.Computes)
	}
	target := Of(*info)
	return synth.Support(op, d, &target, fallback.Computes)
}

// Exception is an operation that a device does not carry out for some types.
type Exception struct {
	Op     ops.Op
	Place  synth.Place
	Types  []ops.DType
	Reason string
}

// Exceptions are what a device leaves to the host, and what nobody computes. They
// take a second: every operation is compiled for every type.
func Exceptions(info *vulkan.Info) []Exception {
	var all []Exception
	for op := ops.Op(0); op < ops.Count; op++ {
		first := len(all)
		for _, d := range ops.DTypes() {
			if _, _, ok := example.Of(op, d); !ok {
				break
			}
			p, reason := Support(info, op, d)
			if p == synth.OnDevice {
				continue
			}
			all = add(all, first, Exception{op, p, []ops.DType{d}, reason})
		}
	}
	return all
}

// add joins an exception to one from first on for the same reason.
func add(all []Exception, first int, x Exception) []Exception {
	for i := first; i < len(all); i++ {
		if all[i].Place == x.Place && all[i].Reason == x.Reason {
			all[i].Types = append(all[i].Types, x.Types...)
			return all
		}
	}
	return append(all, x)
}
