package conformance

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/placement"
	probe "nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/test/draw"
	"nxvk/vulkan"
)

// The device under test and what it can do; nil where there is none.
var (
	binding atomic.Uint64 // bytes that a binding of the device holds, where that is not 0
	device  *vulkan.Device
	target  synth.Target
	absent  error
	said    []string // by the validation layer
)

func TestMain(m *testing.M) {
	flag.Parse()
	codegen.Verify = true
	open()
	code := m.Run()
	if device != nil {
		device.Close()
	}
	for _, s := range said {
		fmt.Println("validation:", s)
		code = 1
	}
	os.Exit(code)
}

// open opens the device that NXVK_DEVICE names, or the best one, under
// validation where the layer is installed.
func open() {
	o := vulkan.Options{
		Watchdog:   -1, // a busy machine is no lost device
		Validation: os.Getenv("NXVK_VALIDATION") != "0",
		OnMessage:  func(severity, text string) { said = append(said, severity+": "+text) },
		Fault: vulkan.Fault{StorageRange: func() uint64 {
			if n := binding.Load(); n > 0 {
				return n
			}
			return math.MaxUint64
		}},
	}
	d, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), o)
	if err != nil {
		absent = err
		return
	}
	if target, err = probe.Probe(d, nil); err != nil {
		absent = err
		return
	}
	device = d
	seesSubnormals, absent = comparesSubnormals()
}

// seesSubnormals is whether arithmetic of the device keeps subnormals of f32 and its
// comparisons tell them from zeros.
var seesSubnormals bool

func comparesSubnormals() (bool, error) {
	d := exectest.NewFor(device, target, -1)
	defer d.Close()
	one := ops.Type{DType: ops.F32, Shape: ops.Shape{1}}
	tiny := draw.Encode([]float64{0x1p-149}, one)
	c := instr{op: ops.Max, types: []ops.Type{one, one}, data: [][]byte{make([]byte, 4), tiny}, out: one}
	got, err := c.run(d)
	return target.Subnormals && bytes.Equal(got, tiny), err
}

// needDevice skips a test where there is no device, and fails it where the device cannot be opened.
func needDevice(t *testing.T) {
	t.Helper()
	if errors.Is(absent, vulkan.ErrNoVulkan) || errors.Is(absent, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", absent)
	}
	if absent != nil {
		t.Fatal(absent)
	}
}

// modes are the ways in which kernels reach buffers: all that the device has. The
// test gets the device and, to compare with, the host.
func modes(t *testing.T, test func(t *testing.T, d, host *exectest.Driver, gpu bool)) {
	t.Helper()
	needDevice(t)
	run := func(name string, tg synth.Target, gpu bool) {
		t.Run(name, func(t *testing.T) {
			d, host := exectest.NewFor(device, tg, -1), exectest.NewFor(nil, target, 0)
			defer d.Close()
			defer host.Close()
			if tg.Rounds != synth.Unlike && !gpu {
				early = exectest.NewWarmUp(device, tg, -1)
				defer func() { early.Close(); early = nil }()
			}
			test(t, d, host, gpu)
		})
	}
	run("native", target, false)
	if *full && !target.Addresses && target.Addressable {
		bound(t, lowBinding, func(tg synth.Target) { run("long buffers", tg, false) })
	}
	if !target.Addresses && device.Info().Features.BufferDeviceAddress {
		// The GPU's profile, on whatever device this is.
		other := target
		other.Addresses, other.CPU = true, false
		run("gpu profile", other, true)
		if other.Matrices = probe.Matrices(device.Info()); len(other.Matrices) > 0 {
			run("matrix hardware", other, true)
		}
	}
}

// early is the device under test where the host carries out new kernels in its stead;
// nil where there is nothing of the kind.
var early *exectest.Driver

// sameEarly compares the results of the device with those of the warm-up interpreter,
// bit for bit.
func sameEarly(t *testing.T, c *instr, got []byte) {
	t.Helper()
	if early == nil {
		return
	}
	if b, err := c.run(early); err != nil || !bytes.Equal(b, got) {
		t.Errorf("%v: the host in the device's stead gives other bits (%v)", c, err)
	}
}

// sameInStead compares the bits of the device with those of the host, where the latter computes
// an instruction in the stead of a processor.
func sameInStead(t *testing.T, c *instr, got, want []byte) {
	t.Helper()
	if early == nil { // no processor, or one that rounds otherwise
		return
	}
	in := ops.Instr{Op: c.op, Attrs: c.attrs, Outs: []ops.Result{{Type: c.out}}}
	if rule := placement.InStead(&in, c.types); rule == placement.Never || rule == placement.Always {
		return
	}
	if err := sameBits(got, want, c.out); err != nil {
		t.Errorf("%v: the host computes it in the device's stead, and gives other bits: %v", c, err)
	}
}

// check computes an instruction on the device and on the host and compares.
// It reports whether the device computed it itself.
func check(t *testing.T, d, host *exectest.Driver, op ops.Op, out ops.Type, attrs [][]int, types []ops.Type, data [][]byte, tol tolerance) bool {
	t.Helper()
	if !chosen(&instr{op: op, attrs: attrs, types: types, out: out}) {
		return false
	}
	before := d.Exec.Counters().Fallbacks
	got, err := once(d, op, out, attrs, types, data)
	want, hostErr := once(host, op, out, attrs, types, data)
	if hostErr != nil || err != nil {
		if (err == nil) != (hostErr == nil) {
			t.Errorf("%v %v%v: device says %v, host says %v", op, attrs, types, err, hostErr)
		}
		return false
	}
	if err := compare(got, want, out, tol); err != nil {
		t.Errorf("%v %v%v: %v", op, attrs, types, err)
	}
	c := &instr{op: op, attrs: attrs, types: types, out: out, data: data}
	sameEarly(t, c, got)
	sameInStead(t, c, got, want)
	return d.Exec.Counters().Fallbacks == before
}

func once(d *exectest.Driver, op ops.Op, out ops.Type, attrs [][]int, types []ops.Type, data [][]byte) ([]byte, error) {
	ins := make([]ops.Operand, len(types))
	var ids []ops.ID
	for i, typ := range types {
		id := d.Upload(typ, data[i])
		ids = append(ids, id)
		ins[i] = ops.Operand{ID: id}
	}
	id := d.Do(op, out, attrs, ins...)
	defer d.Free(append(ids, id)...)
	return d.Read(id)
}

// gpuProfile is the target of a GPU's kernels, which a device that is a processor runs, too, if it has addresses.
func gpuProfile(t *testing.T) synth.Target {
	t.Helper()
	needDevice(t)
	gpu := target
	if gpu.CPU {
		if !device.Info().Features.BufferDeviceAddress {
			t.Skip("the kernels of GPUs take addresses, which the device does not have")
		}
		gpu.Addresses, gpu.CPU = true, false
	}
	return gpu
}
