package fusion

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// Load follows a value of a fusion through views to memory, in the iteration space that has its
// axes in the given order. Dimensions of the space may be split. The error says that it is
// computed, or that strides cannot express where it is.
func (u *Fusion) Load(id ops.ID, order []int, types func(ops.ID) ops.Type) (dims []int, s codegen.Source, err error) {
	dag := &DAG{}
	dag.of(u, types)
	shape := dag.types(id).Shape
	strides := shape.Strides()
	for _, axis := range order {
		dag.Dims, dag.Full.Strides = append(dag.Dims, shape[axis]), append(dag.Full.Strides, strides[axis])
	}
	dag.Kept, dag.rows = len(dag.Dims), dag.Full
	at := 0
	err = dag.run(func() (err error) {
		at, err = dag.value(id, dag.Full)
		return err
	})
	if err != nil {
		return nil, s, err
	}
	if x := &dag.Exprs[at]; x.Kind == ExprSource {
		s = dag.Sources[x.Source]
	}
	if s.Kind != codegen.FromBuffer || len(dag.Exprs) != 1 || len(s.Shifts) > 0 || s.Strides == nil {
		return nil, s, fmt.Errorf("value %d is computed: %w", id, strided.ErrView)
	}
	return dag.Dims, s, nil
}
