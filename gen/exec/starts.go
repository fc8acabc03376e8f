package exec

import (
	"encoding/binary"

	"nxvk/fallback"
	"nxvk/ops"
)

// resolveStarts turns the starts of a slice that came as operands into
// attributes, clamped so that the slice fits: a device's kernels take starts
// that are known. Starts that are only on the device are read back first.
func (e *Executor) resolveStarts(l *Lane, w *work) (wait bool, err error) {
	first := 0
	switch w.in.Op {
	case ops.Slice:
		first = 1
	case ops.PutSlice:
		first = 2
	}
	if first == 0 || len(w.types) == first {
		return false, nil
	}
	for i := first; i < len(w.args); i++ {
		if m := w.args[i]; m != nil && m.Host == nil {
			return e.readBack(l, m, w.types[i])
		}
	}
	lengths := w.types[1].Shape
	if w.in.Op == ops.Slice {
		lengths = w.in.Attrs[1]
	}
	starts := make([]int, len(w.types)-first)
	for i := range starts {
		v, err := w.start(first + i)
		if err != nil {
			return false, err
		}
		starts[i] = int(min(max(v, 0), int64(w.types[0].Shape[i]-lengths[i])))
	}
	in := *w.in
	in.Ins = w.in.Ins[:first]
	in.Attrs = append([][]int{starts}, w.in.Attrs[1:]...)
	w.in, w.types, w.args = &in, w.types[:first], w.args[:first]
	return false, nil
}

// start is the value of an operand that is an integer scalar on the host.
func (w *work) start(i int) (int64, error) {
	src := fallback.Value{Type: w.types[i]}
	if m := w.args[i]; m != nil {
		src.Data = m.Host
	} else {
		src.Data = w.in.Ins[i].Lit.Data
	}
	var b [8]byte
	src.Type.Shape = nil
	err := fallback.Convert(fallback.Value{Type: ops.Type{DType: ops.S64}, Data: b[:]}, src)
	return int64(binary.LittleEndian.Uint64(b[:])), err
}
