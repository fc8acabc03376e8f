package fusion

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// Load traces a value of a fusion through views to memory, in the iteration space that has its
// axes in the given order. Dimensions of the space may be split. The error says that it is
// computed, or that strides cannot express where it is.
func (u *Fusion) Load(id ops.ID, order []int, types func(ops.ID) ops.Type) (dims []int, s codegen.Source, err error) {
	tr := &Trace{}
	tr.of(u, types)
	shape := tr.types(id).Shape
	strides := shape.Strides()
	for _, axis := range order {
		tr.Dims, tr.Full.Strides = append(tr.Dims, shape[axis]), append(tr.Full.Strides, strides[axis])
	}
	tr.Kept, tr.rows = len(tr.Dims), tr.Full
	at := 0
	err = tr.run(func() (err error) {
		at, err = tr.value(id, tr.Full)
		return err
	})
	if err != nil {
		return nil, s, err
	}
	if x := &tr.Exprs[at]; x.Kind == ExprSource {
		s = tr.Sources[x.Source]
	}
	if s.Kind != codegen.FromBuffer || len(tr.Exprs) != 1 || len(s.Shifts) > 0 || s.Strides == nil {
		return nil, s, fmt.Errorf("value %d is computed: %w", id, strided.ErrView)
	}
	return tr.Dims, s, nil
}
