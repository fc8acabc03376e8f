package placement

import (
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

// DefaultLimit is how many elements an instruction may touch to stay on the
// host. A GPU answers a submission in some 15 µs; a software device computes
// on the same cores and only adds its own overhead.
func DefaultLimit(info vulkan.Info) int {
	if info.Kind == vulkan.CPU {
		return 8192
	}
	return 512
}

// Alias returns the memory of the operand where the result is the same bytes.
func (w *Work) Alias() *store.Storage {
	if len(w.Args) == 0 || !w.SameBytes() {
		return nil
	}
	return w.Args[0]
}

// SameBytes reports whether the result of an operation is the bytes of its first operand, its only one that is no
// literal.
func (w *Work) SameBytes() bool {
	if len(w.Types) == 0 || w.In.Ins[0].Lit != nil {
		return false
	}
	for _, in := range w.In.Ins[1:] {
		if in.Lit == nil {
			return false
		}
	}
	return w.In.Op == ops.Bitcast || w.In.KeepsOrder(w.Types[0])
}

// Small reports whether work is sooner done on the host: its operands are
// there, and it touches limit elements at most.
func (w *Work) Small(limit int) bool {
	touched := 0
	for _, r := range w.In.Outs {
		touched = max(touched, r.Type.Size())
	}
	for i, m := range w.Args {
		if m == nil {
			continue
		}
		if !m.OnHost() {
			return false
		}
		touched = max(touched, w.Types[i].Size())
	}
	if touched > limit {
		return false
	}
	if w.In.Op == ops.Dot {
		return touched*contracted(w.In, w.Types) <= 16*limit
	}
	return true
}

// longCost is what the host may take for work on few elements beside a GPU, in elements of about a nanosecond: about as long as
// a GPU takes to answer.
const longCost = 12 << 10

// Long reports whether the host takes longer for work than a GPU takes to answer, although it touches few elements:
// convolutions, windows and Fourier transforms compute much for each.
func (w *Work) Long() bool {
	kind := w.In.Op.Info().Kind
	return (w.In.Op == ops.Conv || kind == ops.Window || kind == ops.Transform) && HostCost(w.In, w.Types) > longCost
}
