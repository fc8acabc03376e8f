package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
	"nxvk/test/draw"
)

// crossEntropy is what Nx makes of a sparse cross-entropy of logits and its gradient, for texts whose
// last position predicts nothing.
func crossEntropy(t *testing.T, batch, length, classes int) *ops.Region {
	t.Helper()
	const text = `(%1:f32[B,L,V], %2:s64[B,K]) {
  %3:f32[B,K,V] = slice %1 starts=[0,0,0] lengths=[B,K,V] strides=[1,1,1]
  %4:f32[B,K,1] = reduce_max %3 axes=[2] keep_axes=true
  %5:f32[B,K,V] = subtract %3, %4
  %6:f32[B,K,V] = exp %5
  %7:f32[B,K,1] = sum %6 axes=[2] keep_axes=true
  %8:f32[B,K,1] = log %7
  %9:f32[B,K,V] = subtract %5, %8
  %10:s64[B,K,1] = reshape %2
  %11:f32[B,K,1] = take_along_axis %9, %10 axis=2
  %12:f32 = sum %11 axes=[0,1,2] keep_axes=false
  %13:f32[B,L,V] = constant f32(0)
  %14:f32[B,K,V] = constant f32(0)
  %15:s32[B,K,1,1] = iota axis=0
  %16:s32[B,K,1,1] = iota axis=1
  %17:s64[B,K,1,1] = reshape %2
  %18:s64[B,K,1,3] = concatenate %15, %16, %17 axis=3
  %19:s64[N,3] = reshape %18
  %20:f32[N] = constant f32(-0.125)
  %21:f32[B,K,V] = indexed_add %14, %19, %20 axes=[0,1,2]
  %22:f32[B,K,1] = sum %21 axes=[2] keep_axes=true
  %23:f32[B,K,1] = divide %22, %7
  %24:f32[B,K,V] = multiply %6, %23
  %25:f32[B,K,V] = subtract %21, %24
  %26:f32[B,L,V] = put_slice %13, %25 starts=[0,0,0]
  give %12, %26
}
`
	sizes := strings.NewReplacer("[B", fmt.Sprintf("[%d", batch), ",L", fmt.Sprintf(",%d", length), ",K", fmt.Sprintf(",%d", length-1),
		",V", fmt.Sprintf(",%d", classes), "[N", fmt.Sprintf("[%d", batch*(length-1)))
	r, err := notation.Parse(sizes.Replace(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A cross-entropy and its gradient have no zeros, no probabilities and no update of all classes in memory on
// a GPU: one kernel reads the logits and writes their gradient, which is padded. The values are those of the
// host, and an index out of bounds is an error of both.
func TestCrossEntropy(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		for _, size := range [][3]int{{2, 4, 700}, {3, 3, 5}, {1, 2, 1}, {2, 3, 5000}} {
			p := crossEntropy(t, size[0], size[1], size[2])
			types, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(uint64(size[2]), 3))
			logits, labels := draw.Whole(rnd, p.Params[0].Type), make([]byte, p.Params[1].Type.Bytes())
			for i := range p.Params[1].Type.Size() {
				binary.LittleEndian.PutUint64(labels[8*i:], uint64(rnd.IntN(size[2])))
			}
			data := [][]byte{logits, labels}
			want, _, err := results(host, p, types, data)
			if err != nil {
				t.Fatal(err)
			}
			var first [][]byte
			for i := range d.Exec.Services().Enough() + 1 {
				got, dispatches, err := results(d, p, types, data)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				}
				for k := range got {
					if !bytes.Equal(got[k], first[k]) {
						t.Errorf("%v: run %d gives other bits of value %d than the first", size, i, k)
					}
					if worst := furthest(got[k], want[k]); worst > 1e-5 {
						t.Errorf("%v: value %d is %v from that of the host", size, k, worst)
					}
				}
				if i == d.Exec.Services().Enough() && gpu && size[2] > 100 && dispatches > 7 {
					t.Errorf("%v: %d dispatches", size, dispatches)
				}
				if err := d.Built(); err != nil {
					t.Fatal(err)
				}
			}
			binary.LittleEndian.PutUint64(labels, uint64(size[2]))
			for _, on := range []*exectest.Driver{d, host} {
				if _, _, err := results(on, p, types, data); err == nil {
					t.Errorf("%v: an index out of bounds is no error", size)
				}
			}
		}
	})
}

// furthest is the largest difference of numbers, relative to those above 1.
func furthest(a, b []byte) (worst float64) {
	for i := 0; i < len(a); i += 4 {
		x, y := math.Float32frombits(binary.LittleEndian.Uint32(a[i:])), math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		d := math.Abs(float64(x)-float64(y)) / max(1, math.Abs(float64(y)))
		if !(d <= worst) {
			worst = d
		}
	}
	return worst
}
