package target

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"nxvk/ops"
	"nxvk/vulkan"
)

// What a probe takes for good is within two units in the last place, with the sign of a
// zero and NaN for NaN.
func TestNear(t *testing.T) {
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct {
		y    float32
		want float64
		near bool
	}{
		{0.75, 0.75, true},
		{0.75 + 0x2p-24, 0.75, true},
		{0.75 + 0x3p-24, 0.75, false},
		{-0.75 - 0x2p-24, -0.75, true},
		{0.75, -0.75, false},
		{0x1p-130, 0x1p-130, true},
		{0, 0x1p-130, false},
		{0, 0, true},
		{minus, 0, false},
		{nan, math.NaN(), true},
		{1, math.NaN(), false},
		{nan, 1, false},
	} {
		if got := near(c.y, c.want); got != c.near {
			t.Errorf("near(%g, %g) = %v", c.y, c.want, got)
		}
	}
}

// device is the best one, or none and the test is skipped.
func device(t *testing.T) *vulkan.Device {
	t.Helper()
	d, err := vulkan.Open("", vulkan.Options{Watchdog: -1}) // a busy machine is no lost device
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// The tanh that is made of a device's own exponential is one, and as good as the library's
// where the probe says so.
func TestExponential(t *testing.T) {
	d := device(t)
	target, err := Probe(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := exponential(d, target)
	if err != nil {
		t.Fatal(err)
	}
	target.Exp2 = true
	v := samples(0x1p-3, 0x1p3)[:probed]
	got, err := try(d, &target, ops.Tanh, v)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, y := range got {
		want := math.Tanh(float64(v[i]))
		worst = max(worst, math.Abs(float64(y)-want)/want*0x1p24)
	}
	if t.Logf("%g of half units, good: %v", worst, good); worst > 16 || good && worst > 4 {
		t.Errorf("off by %g halves of a unit in the last place; the probe says good: %v", worst, good)
	}
}

// Kernels convert f16 exactly, by instructions of the device where the probe says so.
func TestHalves(t *testing.T) {
	d := device(t)
	target := Of(d.Info())
	target.PreciseDiv, target.Subnormals = true, true
	ok, err := halves(d, target)
	if err != nil {
		t.Fatal(err)
	}
	target.Halves = ok
	t.Logf("instructions of the device: %v", target.Halves)
	for _, own := range []bool{false, target.Halves} {
		target.Halves = own
		if exact, err := exactHalves(d, &target); err != nil || !exact {
			t.Errorf("conversions are exact: %v, %v", exact, err)
		}
	}
	if target.Float16 {
		exact, err := roundsHalf(d, target)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("rounds within a kernel: %v", exact)
	}
}

// kept is an archive in memory.
type kept map[string][]byte

func (k kept) Get(key string) []byte       { return k[key] }
func (k kept) Put(key string, data []byte) { k[key] = data }

// What an archive has is not tried again, unless it is damaged.
func TestProbeOnce(t *testing.T) {
	d := device(t)
	archive := kept{}
	want, err := Probe(d, archive)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive) != 1 {
		t.Fatalf("the archive has %d entries, want 1", len(archive))
	}
	for _, damaged := range []bool{false, true} {
		for key := range archive {
			if damaged {
				archive[key] = []byte("?")
			}
		}
		before := d.Stats().Pipelines
		got, err := Probe(d, archive)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("damaged %v: got %+v, %v; want %+v", damaged, got, err, want)
		}
		if tried := d.Stats().Pipelines > before; tried != damaged {
			t.Errorf("damaged %v: tried again: %v", damaged, tried)
		}
	}
}
