package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/example"
)

// The host reuses memory without clearing it, so an operation writes all of its results,
// the padding of narrow types included: else a session would read what another has had.

// written computes an instruction into memory with two patterns and compares. It reports
// whether the host computes it.
func written(t *testing.T, in *ops.Instr, types []ops.Type, data [][]byte) bool {
	t.Helper()
	var first [][]byte
	for _, pattern := range patterns {
		args, outs := make([]fallback.Value, len(types)), make([]fallback.Value, len(in.Outs))
		for i, typ := range types {
			args[i] = fallback.Value{Type: typ, Data: slices.Clone(data[i])}
		}
		var results [][]byte
		for i, o := range in.Outs {
			results = append(results, bytes.Repeat([]byte{pattern}, o.Type.Bytes()))
			outs[i] = fallback.Value{Type: o.Type, Data: results[i]}
		}
		if fallback.Run(in, args, outs) != nil {
			return false
		}
		if first == nil {
			first = results
		}
		for i := range results {
			if !bytes.Equal(results[i], first[i]) {
				t.Errorf("%v: result %d is not written whole", fmt.Sprint(in.Op, in.Attrs, types, in.Outs), i)
			}
		}
	}
	return true
}

func TestHostWritesAll(t *testing.T) {
	seeds, ran := uint64(3000), map[ops.Op]bool{}
	if *full {
		seeds *= 20
	}
	try := func(m *mutant) {
		var data [][]byte
		for i, typ := range m.types {
			if m.in.Op.Info().Kind == ops.Index && i == 1 {
				data = append(data, make([]byte, typ.Bytes())) // within all bounds
				continue
			}
			data = append(data, m.data(typ))
		}
		if written(t, m.in, m.types, data) {
			ran[m.in.Op] = true
		}
	}
	for seed := range seeds {
		if m := drawMutant(seed, true); m.accepted() {
			try(m)
		}
	}
	for op := range ops.Count {
		for _, d := range ops.DTypes() {
			if in, types, ok := example.Of(op, d); ok && op != ops.Constant && in.Check(types) == nil {
				m := newMutant(1)
				m.in, m.types = in, types
				try(m)
			}
		}
	}
	t.Logf("%d operations", len(ran))
	if len(ran) < 100 {
		t.Errorf("only %d operations were tried", len(ran))
	}
}
