package simt

import (
	"bytes"
	"encoding/binary"
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/scalar"
)

// apartKernel has its invocations take loops of different lengths, and different ways
// within these and after them.
func apartKernel() *kernel.Kernel {
	b := kernel.NewBuilder("apart", [3]uint32{8, 1, 1})
	in, out := b.Buffer(kernel.U32, true, false), b.Buffer(kernel.U32, false, true)
	n := b.Param(scalar.U32)
	i := b.Add(b.Mul(b.Builtin(kernel.GroupX), b.Int(scalar.U32, 8)), b.Builtin(kernel.LocalX))
	zero, one := b.Int(scalar.U32, 0), b.Int(scalar.U32, 1)
	b.If(b.Compare(scalar.Lt, i, n), func() []kernel.Value {
		x := b.Load(in, i, 1)[0]
		sums := b.Loop(zero, x, one, []kernel.Value{zero, x}, func(k kernel.Value, c []kernel.Value) []kernel.Value {
			odd := b.Compare(scalar.Eq, b.And(k, 1), one)
			next := b.If(odd, func() []kernel.Value { return []kernel.Value{b.Mul(c[0], k)} },
				func() []kernel.Value { return []kernel.Value{b.Add(c[1], k)} })
			return []kernel.Value{next[0], c[0]} // one carried value is what the other was
		})
		b.Store(out, i, b.Add(sums[0], b.Mul(sums[1], b.Int(scalar.U32, 1000))))
		return nil
	}, nil)
	return b.Kernel()
}

// Invocations that go different ways give what they give one after the other, on one
// processor or on several, also where the last group is not full.
func TestApart(t *testing.T) {
	k := apartKernel()
	if err := kernel.Verify(k); err != nil {
		t.Fatal(err)
	}
	code := Compile(k, false)
	for _, n := range []int{1, 7, 8, 129, 5000} {
		var in []byte
		for i := range n {
			in = binary.LittleEndian.AppendUint32(in, uint32(i*31%17))
		}
		params := binary.LittleEndian.AppendUint32(nil, uint32(n))
		got, want := make([]byte, 4*n), make([]byte, 4*n)
		grid := [3]uint32{uint32(n+7) / 8, 1, 1}
		kerneltest.Run(k, [][]byte{in, want}, params, grid)
		if ran := code.Run(nil, [][]byte{in, got}, params, grid); ran == 0 {
			t.Errorf("%d: nothing ran", n)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d invocations: got %x, want %x", n, got[:min(64, 4*n)], want[:min(64, 4*n)])
		}
	}
}

// Kernels whose invocations talk to each other are not for here.
func TestRefused(t *testing.T) {
	b := kernel.NewBuilder("shared", [3]uint32{8, 1, 1})
	b.Shared(scalar.U32, 8)
	b.Barrier()
	if Compile(b.Kernel(), false) != nil {
		t.Error("a kernel with shared memory is taken")
	}
}
