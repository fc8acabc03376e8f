package kernels

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/target"
	"nxvk/shaders"
	"nxvk/synth"
	"nxvk/vulkan"
)

// chunksKernel is a kernel that drivers of all devices take, told from others by its name.
func chunksKernel(t *testing.T, name string) *synth.Kernel {
	t.Helper()
	code, err := shaders.Code("gemm_chunks.f32.bindings")
	if err != nil {
		t.Fatal(err)
	}
	return &synth.Kernel{Name: name, Code: code, Buffers: 3, PushBytes: 12, Spec: []uint32{64}, Local: [3]uint32{64, 1, 1}}
}

// starterCase is a plan of one kernel, "whole", with a starter.
type starterCase struct {
	*Cache
	k       *Kernel
	p       *Plan
	work    []func() // that the cache has others do, in order
	refused []string // kernels that the driver does not compile
}

// newStarterCase opens a device that does not compile the kernel of a name.
func newStarterCase(t *testing.T, refuses string) *starterCase {
	t.Helper()
	o := vulkan.Options{Watchdog: -1}
	o.Fault.Refuse = func(name string) bool { return name == refuses }
	d, err := vulkan.Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	x := &starterCase{}
	x.Cache = New(Config{Device: d, Log: zerolog.Nop(), Flush: func() {},
		Post: func(f func()) { x.work = append(x.work, f) },
		Aside: func(_ string, f func(*sched.Worker) error, then func(error)) {
			x.work = append(x.work, func() { then(f(nil)) })
		},
		Refused: func(k *Kernel) { x.refused = append(x.refused, k.Name) }}, false)
	s := chunksKernel(t, "whole")
	s.Starter = chunksKernel(t, "starter")
	x.k = x.Wanted(s)
	x.p = &Plan{Plan: &synth.Plan{Steps: []synth.Step{{Kernel: s}}}, Kernels: []*Kernel{x.k}}
	return x
}

// start has the starter made, as for a kernel that the pipeline cache does not have, and returns how often the kernel itself was
// asked for.
func (x *starterCase) start() (asked int) {
	x.k.asked = true
	x.Cache.start(x.k, func() { asked++ })
	x.run()
	return asked
}

func (x *starterCase) run() {
	for len(x.work) > 0 {
		next := x.work[0]
		x.work = x.work[1:]
		next()
	}
}

// makeWhole has the driver compile the kernel itself.
func (x *starterCase) makeWhole() {
	pipe, err := target.Compile(x.cfg.Device, x.k.Kernel)
	x.made(x.k, pipe, err)
}

// wantReady checks which kernel the plan waits for.
func (x *starterCase) wantReady(t *testing.T, when string, want *Kernel) {
	t.Helper()
	if waits, err := x.Ready(x.p); waits != want || err != nil {
		t.Errorf("%s: the plan waits for %v, %v, want %v", when, waits, err, want)
	}
}

// A plan can run as soon as the starter of its kernel is made, and the kernel takes over when it is made, too. Meanwhile nothing
// that is in use makes room for others.
func TestStarter(t *testing.T) {
	x := newStarterCase(t, "")
	x.Bound(1<<10, 2)
	k, told := x.k, 0
	k.WhenReady(func() { told++ })
	if asked := x.start(); asked != 1 || told != 1 {
		t.Errorf("the kernel is asked for %d times, and who waits for it is told %d times", asked, told)
	}
	x.wantReady(t, "with a starter", nil)
	if k.Done() || x.Made(x.p) {
		t.Error("the kernel itself counts as made")
	}
	starter := k.starter
	if k.Pipeline() == nil || k.Pipeline() != starter.pipe {
		t.Error("the starter does not stand for the kernel")
	}
	for i := range 5 {
		x.Kernel(chunksKernel(t, fmt.Sprint("another", i)))
		x.run()
	}
	if k.gone || starter.gone {
		t.Error("a kernel in use has made room for others")
	}
	x.makeWhole()
	x.wantReady(t, "with the kernel", nil)
	if k.Pipeline() != k.pipe || k.pipe == nil || starter.holders != 0 {
		t.Errorf("the starter still has %d holders", starter.holders)
	}
}

// Where the driver refuses a starter, the kernel is waited for.
func TestStarterRefused(t *testing.T) {
	x := newStarterCase(t, "starter")
	if asked := x.start(); asked != 1 || !slices.Equal(x.refused, []string{"starter"}) {
		t.Errorf("the kernel is asked for %d times, refused are %v", asked, x.refused)
	}
	x.wantReady(t, "without a starter", x.k)
	x.makeWhole()
	x.wantReady(t, "with the kernel", nil)
}

// Where the driver refuses the kernel, its starter stays, until the kernel makes room for others.
func TestStarterStays(t *testing.T) {
	x := newStarterCase(t, "whole")
	x.start()
	x.makeWhole()
	x.wantReady(t, "with a starter alone", nil)
	starter := x.k.starter
	if !x.k.Done() || x.k.Pipeline() == nil || starter.holders != 1 || !slices.Equal(x.refused, []string{"whole"}) {
		t.Errorf("done %v, runs %v, refused are %v", x.k.Done(), x.k.Pipeline(), x.refused)
	}
	x.Bound(1<<10, 1)
	for i := range 3 {
		x.Kernel(chunksKernel(t, fmt.Sprint("another", i)))
		x.run()
	}
	if !x.k.gone || starter.holders != 0 {
		t.Errorf("gone %v, the starter has %d holders", x.k.gone, starter.holders)
	}
}

// A kernel that the pipeline cache may not have is made after its starter, any other one at once.
func TestStarterComesFirst(t *testing.T) {
	x := newStarterCase(t, "")
	s := x.k.Kernel
	_, missing := x.cfg.Device.CachedPipeline(s.Name, s.Code, target.Layout(s, x.cfg.Device.Info()))
	k := x.Kernel(s)
	var made []string
	k.Then(func() { made = append(made, "whole") })
	k.WhenReady(func() { made = append(made, "ready") })
	x.run()
	want := []string{"ready", "whole"}
	if missing == nil {
		want = []string{"whole", "ready"}
	}
	if !k.Done() || k.Err() != nil || !slices.Equal(made, want) {
		t.Errorf("done %v, %v, %v, want %v where the cache says: %v", k.Done(), k.Err(), made, want, missing)
	}
}
