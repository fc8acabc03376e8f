package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"regexp"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
	"nxvk/test/fewtest"
)

// instr is an instruction under test, on operands that are all uploaded.
type instr struct {
	op    ops.Op
	attrs [][]int
	types []ops.Type
	data  [][]byte
	out   ops.Type
}

func (c *instr) String() string {
	return fmt.Sprintf("%v %v%v to %v", c.op, c.attrs, c.types, c.out)
}

// infer states the shape of the result. A shape that is given already is for
// the operations that leave it to the client.
func (c *instr) infer(t *testing.T, d ops.DType) {
	t.Helper()
	c.out.DType = d
	in := ops.Instr{Op: c.op, Attrs: c.attrs, Ins: make([]ops.Operand, len(c.types)), Outs: []ops.Result{{ID: 1, Type: c.out}}}
	shapes, err := c.op.Info().Infer(&in, c.types)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	c.out.Shape = shapes[0]
}

// only picks cases by what they print in errors, such as "^conv .*f16".
var only = flag.String("case", "", "run the cases whose text matches a regular expression")

// chosen reports whether a case is to run.
func chosen(c *instr) bool {
	if *only == "" {
		return true
	}
	ok, err := regexp.MatchString(*only, c.String())
	if err != nil {
		panic("-case: " + err.Error())
	}
	return ok
}

// run computes the instruction on a driver.
func (c *instr) run(d *exectest.Driver) ([]byte, error) {
	return once(d, c.op, c.out, c.attrs, c.types, c.data)
}

// rarely picks one of so many cases by their names, half as many with -short, all of them with
// -full. A case is picked in every run of its kind or in none.
func rarely(of int, c *instr) bool {
	if *only != "" {
		return chosen(c)
	}
	if *full || of <= 1 {
		return true
	}
	h := fnv.New32a()
	fmt.Fprint(h, c)
	return int(h.Sum32()>>8)%fewtest.Of(of, 2*of) == 0
}

// tally counts the cases of a test and those that the device computed.
type tally struct{ cases, device int }

// report says what was counted. A device that computed nothing was not tested.
func (n *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d cases ran on the device", n.device, n.cases)
	if n.cases == 0 && *only != "" {
		t.Skipf("no case matches %q", *only)
	}
	if n.device == 0 {
		t.Error("nothing ran on the device")
	}
}

// allOnDevice is report where the device has to have computed every case.
func (n *tally) allOnDevice(t *testing.T) {
	t.Helper()
	n.report(t)
	if n.device != n.cases {
		t.Errorf("%d cases ran on the host", n.cases-n.device)
	}
}

// near computes a case on the device and on the host and compares. Any NaN is
// as good as another.
func (n *tally) near(t *testing.T, d, host *exectest.Driver, c *instr, tol tolerance) {
	t.Helper()
	if got, want, ok := n.both(t, d, host, c); ok {
		if err := compare(got, want, c.out, tol); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// same computes a case on the device and on the host, which must give the same
// bits.
func (n *tally) same(t *testing.T, d, host *exectest.Driver, c *instr) {
	t.Helper()
	got, want, ok := n.both(t, d, host, c)
	if !ok {
		return
	}
	size := c.out.DType.Size()
	for i := 0; i < len(want); i += size {
		if !bytes.Equal(got[i:i+size], want[i:i+size]) {
			t.Errorf("%v: element %d is %x, want %x", c, i/size, got[i:i+size], want[i:i+size])
			return
		}
	}
}

// both computes a case on the device, twice, and on the host. It reports false
// where there is nothing to compare.
func (n *tally) both(t *testing.T, d, host *exectest.Driver, c *instr) (got, want []byte, ok bool) {
	t.Helper()
	if !chosen(c) {
		return nil, nil, false
	}
	n.cases++
	before := d.Exec.Counters().Fallbacks
	got, err := c.run(d)
	want, hostErr := c.run(host)
	if err != nil || hostErr != nil {
		t.Errorf("%v: device says %v, host says %v", c, err, hostErr)
		return nil, nil, false
	}
	if d.Exec.Counters().Fallbacks != before {
		return got, want, true
	}
	n.device++
	again, err := c.run(d)
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("%v: the second run differs from the first (%v)", c, err)
	}
	sameEarly(t, c, got)
	return got, want, true
}

// sampler draws the operands of the cases.
type sampler struct{ draw.Sampler }

func newSampler(seed uint64) sampler { return sampler{draw.New(seed)} }

// bits draws random bytes that are elements of a type: any pattern, NaNs with
// payloads among them.
func (s sampler) bits(typ ops.Type) []byte {
	b := make([]byte, typ.Bytes())
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	if n := typ.DType.Bits(); n < 8 {
		for i := range b {
			b[i] &= 1<<n - 1
			if typ.DType.Class() == ops.Signed && b[i]>>(n-1) != 0 {
				b[i] |= ^byte(0) << n
			}
		}
	}
	return b
}

// natural draws numbers of a type from low to high.
func (s sampler) natural(typ ops.Type, low, high int) []byte {
	v := make([]float64, typ.Size())
	for i := range v {
		v[i] = float64(low + s.IntN(high-low+1))
	}
	return draw.Encode(v, typ)
}
