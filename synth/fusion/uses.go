package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
)

// MaxBuffers is the most buffers of a kernel where they are bound.
const MaxBuffers = 32

// Use is a value in memory that a kernel reads through a view. It takes a buffer.
type Use struct {
	Of int    // its number, as Code has it
	By uint64 // a hash of the view; 0 if it is the identity
}

// Uses lists what a DAG reads from memory.
func (dag *DAG) Uses() (all []Use) {
	for _, s := range dag.Sources {
		if s.Kind != codegen.FromBuffer {
			continue
		}
		at := Use{Of: s.Buffer.Ref.Index}
		if len(s.Shifts) > 0 || !SameView(dag.Dims, s.View, dag.Full) {
			at.By = keyOf(keyLoad, 0, s.View).hash
			for _, h := range s.Shifts {
				at.By = mix(mix(at.By, uint64(h.From)), uint64(h.Stride))
			}
		}
		all = append(all, at)
	}
	for _, in := range dag.checked {
		all = append(all, checkUse(in))
	}
	return all
}

// checkWord marks the words of checks in the list of values in memory; it is the id of no
// value.
const checkWord = -1 - 1<<40

// checkUse is the word of the check of an instruction among the buffers of a kernel.
func checkUse(in *ops.Instr) Use {
	return Use{Of: checkWord, By: uint64(in.Outs[0].ID) + 1}
}
