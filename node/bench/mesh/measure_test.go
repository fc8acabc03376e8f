package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"nxvk/vulkan"
)

// Every measurement has a row, of two and of three devices, whatever the format.
func TestMeasure(t *testing.T) {
	c := Config{Devices: []string{"host", "host", "host"}, Least: 1 << 10, Most: 1 << 18, Hidden: 8, Batch: 24, Time: 1, JSON: true}
	var out bytes.Buffer
	if err := Measure(context.Background(), &out, c); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, text := range strings.Split(strings.TrimSpace(out.String()), "\n")[3:] {
		var r Row
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Micros <= 0 || r.Rounds < 1 {
			t.Errorf("%s: %v", text, err)
		}
		seen[r.What]++
	}
	for what, n := range map[string]int{"copy": 5, "copy both ways": 5, "all_reduce": 10, "in a row": 10, "step": 3} {
		if seen[what] != n {
			t.Errorf("%d rows of %s, want %d", seen[what], what, n)
		}
	}
	out.Reset()
	if c.JSON = false; Measure(context.Background(), &out, c) != nil || strings.Count(out.String(), "\n") != 3+1+33 {
		t.Errorf("the table:\n%s", out.String())
	}
}

// The buses of devices are measured by every way: by copies and by kernels, 2 memories, 3 directions and 4 depths, of one device
// and of two, and relays; both ways also by copies and kernels at once. The host has none.
func TestBus(t *testing.T) {
	c := Config{Devices: []string{"host", "host"}, Least: 1 << 12, Most: 1 << 12, Time: 1, JSON: true, Bus: true}
	if err := Measure(context.Background(), new(bytes.Buffer), c); !errors.Is(err, errNoBus) {
		t.Fatalf("the bus of the host: %v", err)
	}
	infos, err := vulkan.Devices()
	if err != nil || len(infos) == 0 || !infos[0].Features.HostImport {
		t.Skipf("there is no device of Vulkan that imports memory (%v)", err)
	}
	c.Devices = []string{"0", "0"}
	var out bytes.Buffer
	if err := Measure(context.Background(), &out, c); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, text := range strings.Split(strings.TrimSpace(out.String()), "\n")[2:] {
		var r Row
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Micros <= 0 || r.Rounds < 1 || r.Depth < 1 {
			t.Errorf("%s: %v", text, err)
		}
		seen[r.What]++
	}
	for what, n := range map[string]int{"down": 32, "up": 32, "both": 48, "relay": 8, "relay both ways": 16} {
		if seen[what] != n {
			t.Errorf("%d rows of %s, want %d", seen[what], what, n)
		}
	}
}

// A mesh that cannot be, and a measurement that is given up, are errors.
func TestMeasureFails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	for name, devices := range map[string][]string{"one device": {"host"}, "no such device": {"host", "no such device"}} {
		if err := Measure(ctx, new(bytes.Buffer), Config{Devices: devices}); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	cancel()
	if err := Measure(ctx, new(bytes.Buffer), Config{Devices: []string{"host", "host"}, Least: 4, Most: 4}); err == nil {
		t.Error("a measurement goes on after its context has ended")
	}
}
