package sweep

import (
	"strings"
	"testing"

	"nxvk/ops"
)

// TestPrograms reads cases that are written as text, and measures them on the host.
func TestPrograms(t *testing.T) {
	cases, err := Read(strings.NewReader(`
# an embedding
(%1:f32[100,8], %2:s64[30]) {
  %3:f32[30,8] = take %1, %2 axis=0
  give %3
}

# a scaled product
(%1:f32[4,5], %2:f32[5,6]) {
  %3:f32[4,6] = dot %1, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %4:f32[4,6] = multiply %3, f32(0.5)
  give %4
}

# a factorization
(%1:f32[6,6]) {
  %2:f32[6,6] = cholesky %1
  give %2
}
`[1:]))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 3 {
		t.Fatalf("%d cases are read, want 3", len(cases))
	}
	if c := cases[0]; c.Name != "an embedding" || c.Program || c.Params[1].Fill != Indices || c.Params[1].Bound != 100 || c.Bytes != 30*(8+2*8*4) {
		t.Errorf("the embedding is read as %+v", c)
	}
	if c := cases[1]; !c.Program || c.Ops != 2*4*5*6 || c.Params[2].Fill != Literal || c.Params[2].Number != 0.5 {
		t.Errorf("the product is read as %+v", c)
	}
	if c := cases[2]; c.Params[0].Fill != Symmetric {
		t.Errorf("the factorization is read as %+v", c)
	}
	host, err := open("host", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.close)
	for _, r := range host.measure(cases, always) {
		if r.Error != "" {
			t.Errorf("%s: %s", r.Name, r.Error)
		}
	}
	for _, text := range []string{"# no program\n(%1:f32[2]) {", "# imaginary\n(%1:c64[2]) {\n  %2:c64[2] = add %1, c64(1+2i)\n  give %2\n}"} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// TestCount compares the traffic and the arithmetic of cases with what they are by hand.
func TestCount(t *testing.T) {
	b := &builder{}
	x := b.param(Uniform, typed(ops.F32, 100, 100))
	y := b.do(ops.Slice, ops.F32, [][]int{{0, 0}, {10, 10}, {1, 1}}, x)
	b.finish(b.do(ops.Negate, ops.F32, nil, y))
	if b.c.Bytes != 2*400 || b.c.Ops != 0 {
		t.Errorf("a slice: %g bytes, %g operations", b.c.Bytes, b.c.Ops)
	}
	b = &builder{}
	x = b.param(Uniform, typed(ops.F32, 2, 8, 16))
	b.finish(b.do(ops.RFFT, ops.C64, [][]int{{16}, {2}, noEps}, x))
	if b.c.Bytes != 2*8*(16*4+9*8) {
		t.Errorf("a transform: %g bytes", b.c.Bytes)
	}
	b = &builder{}
	x = b.param(Uniform, typed(ops.F16, 2, 6, 9, 9))
	k := b.param(Uniform, typed(ops.F16, 4, 3, 3, 3))
	plain := []int{0, 1, 2, 3}
	b.finish(b.do(ops.Conv, ops.F16, [][]int{{1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, {2}, {1}, plain, plain, plain}, x, k))
	if b.c.Ops != 2*(2*4*9*9)*(3*3*3) {
		t.Errorf("a convolution: %g operations", b.c.Ops)
	}
}
