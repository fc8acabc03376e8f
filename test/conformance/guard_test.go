package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/kernel/kerneltest"
)

// The interpreter of kernels executes the plans of mutants. Its buffers end where
// those of a device would, so an access beyond one panics. Memory that nothing has
// written is filled with a pattern, and in a second run with another one: a result
// that differs depends on such memory. No device is needed.

// profiles are devices that lack nothing, of both kinds.
var profiles = map[string]*synth.Target{
	"gpu": {Addresses: true, Float64: true, Int64: true, Int16: true, Int8: true, Storage16: true, Storage8: true,
		PreciseDiv: true, Subnormals: true, SharedMemory: 48 << 10, MaxInvocations: 1024, SubgroupSize: 32, SubgroupOps: true,
		MaxBinding: 1 << 27},
	"cpu": {CPU: true, Float64: true, Int64: true, Storage16: true, Storage8: true, PreciseDiv: true, Subnormals: true,
		SharedMemory: 32 << 10, MaxInvocations: 1024, SubgroupSize: 8, MaxBinding: 1 << 27},
	"words": {Addresses: true, SharedMemory: 16 << 10, MaxInvocations: 128, SubgroupSize: 4, MaxBinding: 1 << 27},
}

// patterns fill memory that nobody has written.
var patterns = []byte{0xA5, 0x3C}

// filled is memory that ends at a whole word and holds a pattern.
func filled(n int, pattern byte) []byte {
	return bytes.Repeat([]byte{pattern}, (n+3)/4*4)
}

// guarded carries out a plan and gives its results, and whether a check failed.
func guarded(p *synth.Plan, operands [][]byte, outs []ops.Result, pattern byte) (results [][]byte, failed bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a kernel panics: %v", r)
		}
	}()
	memory := map[synth.RefKind][][]byte{}
	for _, b := range operands {
		whole := filled(len(b), pattern)
		copy(whole, b)
		memory[synth.Operand] = append(memory[synth.Operand], whole)
	}
	for _, o := range outs {
		memory[synth.Result] = append(memory[synth.Result], filled(o.Type.Bytes(), pattern))
	}
	for _, n := range p.Temps {
		memory[synth.Temp] = append(memory[synth.Temp], filled(int(n), pattern))
	}
	for range p.Checks {
		memory[synth.CheckWord] = append(memory[synth.CheckWord], filled(4, 0))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		var bufs [][]byte
		for _, a := range s.Args {
			bufs = append(bufs, memory[a.Ref.Kind][a.Ref.Index])
		}
		push := slices.Clone(s.Push)
		if s.Kernel.Addresses {
			push = push[8*len(bufs):]
		}
		kerneltest.Run(s.Kernel.IR, bufs, push, s.Grid)
	}
	for i, o := range outs {
		results = append(results, memory[synth.Result][i][:o.Type.Bytes()])
	}
	for _, word := range memory[synth.CheckWord] {
		failed = failed || binary.LittleEndian.Uint32(word) != 0
	}
	return results, failed, nil
}

// guard carries out a mutant on a profile and reports whether it could.
func (m *mutant) guard(t *testing.T, target *synth.Target) bool {
	t.Helper()
	p, err := synth.Lower(m.in, m.types, target)
	if errors.Is(err, synth.ErrUnsupported) {
		return false
	}
	what := fmt.Sprintf("%v %v%v to %v", m.in.Op, m.in.Attrs, m.types, m.in.Outs)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	if p.Alias >= 0 || slices.ContainsFunc(p.Steps, func(s synth.Step) bool { return s.Kernel.IR == nil }) {
		return false
	}
	var operands [][]byte
	for _, typ := range m.types {
		operands = append(operands, m.data(typ))
	}
	first, failed, err := guarded(p, operands, m.in.Outs, patterns[0])
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	second, again, err := guarded(p, operands, m.in.Outs, patterns[1])
	if err != nil || failed != again || !slices.EqualFunc(first, second, bytes.Equal) {
		t.Errorf("%s depends on memory that nobody has written (%v)", what, err)
	}
	if target.Float64 { // else integers are rounded before they are computed with
		m.agree(t, what, operands, first, failed)
	}
	return true
}

// agree compares with the host where that has a single right answer.
func (m *mutant) agree(t *testing.T, what string, operands, got [][]byte, failed bool) {
	t.Helper()
	if m.roundsUnevenly() {
		return
	}
	args, outs := make([]fallback.Value, len(m.types)), make([]fallback.Value, len(m.in.Outs))
	for i, typ := range m.types {
		args[i] = fallback.Value{Type: typ, Data: operands[i]}
	}
	for i, o := range m.in.Outs {
		outs[i] = fallback.Value{Type: o.Type, Data: make([]byte, o.Type.Bytes())}
	}
	err := fallback.Run(m.in, args, outs)
	if failed != errors.Is(err, fallback.ErrIndex) {
		t.Errorf("%s: a check failed: %v, the host says %v", what, failed, err)
	}
	if err != nil {
		return
	}
	for i, o := range m.in.Outs {
		if err := compare(got[i], outs[i].Data, o.Type, tolerance{ulp: 16, absolute: 1e-3, flush: true}); err != nil {
			t.Errorf("%s: result %d: %v", what, i, err)
		}
	}
}

func TestGuards(t *testing.T) {
	for name, target := range profiles {
		t.Run(name, func(t *testing.T) {
			seeds, of, ran := uint64(600), map[ops.Kind]int{}, map[ops.Op]bool{}
			if *full {
				seeds *= 50
			}
			for seed := range seeds {
				m := drawMutant(seed, true)
				if m.accepted() && m.guard(t, target) {
					of[m.in.Op.Info().Kind]++
					ran[m.in.Op] = true
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d operations were carried out, by kind %v", len(ran), of)
			for _, kind := range []ops.Kind{ops.Pointwise, ops.Reduce, ops.Movement, ops.Index, ops.Window, ops.Scan, ops.Fold} {
				if of[kind] == 0 && name != "words" {
					t.Errorf("nothing of kind %v was carried out", kind)
				}
			}
		})
	}
}

// FuzzGuards looks for a seed whose plan leaves its memory.
func FuzzGuards(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(7499))  // real lines of a transform in complex numbers
	f.Add(uint64(11749)) // a power of a u64 in a type that is narrower
	f.Add(uint64(14287)) // a power of complex numbers that is stated whole
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := drawMutant(seed, true)
		if !m.accepted() {
			return
		}
		for _, target := range profiles {
			m.guard(t, target)
		}
	})
}
