package kernels

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/shaders"
	"nxvk/synth"
	"nxvk/vulkan"
)

// tasks are what a Cache has others do, in order.
type tasks struct{ list []func() }

func (k *tasks) aside(_ string, f func(*sched.Worker) error, then func(error)) {
	k.list = append(k.list, func() { then(f(nil)) })
}

func (k *tasks) run() {
	for len(k.list) > 0 {
		next := k.list[0]
		k.list = k.list[1:]
		next()
	}
}

// chunksKernel is a kernel that drivers of all devices take, told from others by its name.
func chunksKernel(t *testing.T, name string) *synth.Kernel {
	t.Helper()
	code, err := shaders.Code("gemm_chunks.f32.bindings")
	if err != nil {
		t.Fatal(err)
	}
	return &synth.Kernel{Name: name, Code: code, Buffers: 3, PushBytes: 12, Spec: []uint32{64}, Local: [3]uint32{64, 1, 1}}
}

// A plan can run as soon as the starter of its kernel is made, and the kernel takes over when it is made, too. Meanwhile nothing
// that is in use makes room for others.
func TestStarter(t *testing.T) {
	d, err := vulkan.Open("", vulkan.Options{Watchdog: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var work tasks
	c := New(Config{Device: d, Log: zerolog.Nop(), Aside: work.aside, Post: func(f func()) { work.list = append(work.list, f) }, Flush: func() {}, Refused: func(*Kernel) {}}, false)
	c.Bound(1<<10, 2)
	s := chunksKernel(t, "whole")
	s.Starter = chunksKernel(t, "starter")
	k := c.Wanted(s)
	p := &Plan{Plan: &synth.Plan{Steps: []synth.Step{{Kernel: s}}}, Kernels: []*Kernel{k}}
	said := 0
	k.asked = true
	c.start(k, func() { said++ }) // as for a kernel that no cache has
	waits, err := c.Ready(p)
	if waits != k || err != nil {
		t.Fatalf("before the starter is made: %v, %v", waits, err)
	}
	told := 0
	k.WhenReady(func() { told++ })
	work.run()
	if waits, err := c.Ready(p); waits != nil || err != nil || told != 1 || said != 1 {
		t.Fatalf("with a starter: %v, %v, told %d times, the kernel is wanted %d times", waits, err, told, said)
	}
	if k.Done() || c.Made(p) {
		t.Error("the kernel itself counts as made")
	}
	starter := k.starter
	if k.Pipeline() == nil || k.Pipeline() != starter.pipe {
		t.Error("the starter does not stand for the kernel")
	}
	for i := range 5 {
		c.Kernel(chunksKernel(t, fmt.Sprint("another", i)))
		work.run()
	}
	if k.gone || starter.gone {
		t.Error("a kernel in use has made room for others")
	}
	pipe, err := d.Pipeline(s.Name, s.Code, vulkan.Layout{Buffers: 3, PushBytes: 12, Spec: []uint32{64}})
	c.made(k, pipe, err)
	if waits, err := c.Ready(p); waits != nil || err != nil || k.Pipeline() != pipe || starter.holders != 0 {
		t.Errorf("with the kernel: %v, %v, the starter has %d holders", waits, err, starter.holders)
	}
}

// A kernel that the pipeline cache may not have is asked for after its starter; one without a starter at once.
func TestStarterComesFirst(t *testing.T) {
	d, err := vulkan.Open("", vulkan.Options{Watchdog: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var work tasks
	c := New(Config{Device: d, Log: zerolog.Nop(), Aside: work.aside, Refused: func(*Kernel) {}}, false)
	s := chunksKernel(t, "whole")
	s.Starter = chunksKernel(t, "starter")
	_, missing := d.CachedPipeline(s.Name, s.Code, vulkan.Layout{Buffers: 3, PushBytes: 12, Spec: []uint32{64}})
	k := c.Kernel(s)
	var made []string
	k.Then(func() { made = append(made, "whole") })
	k.WhenReady(func() { made = append(made, "ready") })
	work.run()
	want := []string{"ready", "whole"}
	if missing == nil {
		want = []string{"whole", "ready"}
	}
	if !k.Done() || k.Err() != nil || !slices.Equal(made, want) {
		t.Errorf("done %v, %v, %v, want %v where the cache says: %v", k.Done(), k.Err(), made, want, missing)
	}
}
