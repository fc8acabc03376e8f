package placement

import (
	"encoding/binary"
	"math"

	"nxvk/fallback"
	"nxvk/ops"
)

// SettleStarts makes literals of the starts of a slice that came as operands and
// are on the host: a kernel takes them as parameters, so they need not go to the
// device, and one plan serves all of them. Starts that are only on the device
// stay operands. The instruction is copied where it changes.
func (w *Work) SettleStarts() error {
	first := 0
	switch w.In.Op {
	case ops.Slice:
		first = 1
	case ops.PutSlice:
		first = 2
	default:
		return nil
	}
	for i := first; i < len(w.Types); i++ {
		if m := w.Args[i]; m == nil && w.In.Ins[i].Lit == nil || m != nil && !m.OnHost() {
			continue // pending, or on the device
		}
		lit, err := w.start(i, w.Types[0].Shape[i-first])
		if err != nil {
			return err
		}
		w.Replace(i, lit)
		w.Args[i] = nil
	}
	return nil
}

// start is the value of an operand that is an integer scalar on the host, brought
// into [0, limit] and in 32 bits where those suffice: not all devices have more.
func (w *Work) start(i, limit int) (*ops.Literal, error) {
	src := fallback.Value{Type: w.Types[i]}
	if m := w.Args[i]; m != nil {
		src.Data = m.Host
	} else {
		src.Data = w.In.Ins[i].Lit.Data
	}
	b := make([]byte, 8)
	src.Type.Shape = nil
	if err := fallback.Convert(fallback.Value{Type: ops.Type{DType: ops.S64}, Data: b}, src); err != nil {
		return nil, err
	}
	at := min(max(int64(binary.LittleEndian.Uint64(b)), 0), int64(limit))
	if limit > math.MaxInt32 {
		binary.LittleEndian.PutUint64(b, uint64(at))
		return &ops.Literal{Type: ops.Type{DType: ops.S64}, Data: b}, nil
	}
	binary.LittleEndian.PutUint32(b, uint32(at))
	return &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: b[:4]}, nil
}
