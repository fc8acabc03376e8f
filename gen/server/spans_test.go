package server

import (
	"strings"
	"testing"

	"nxvk/gen/etf"
	"nxvk/vulkan"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// square is a program that multiplies n floats by themselves.
func square(n int64) etf.Term {
	value := func(id int64) etf.Term { return tuple{id, atom("f32"), tuple{n}} }
	return tuple{list{value(1)}, list{tuple{atom("multiply"), list{value(2)}, list{int64(1), int64(1)}, list(nil)}}, list{int64(2)}}
}

// spans waits for the spans of a request, and checks that they lie within it and have its context.
func (c *client) spans(name atom) (parts map[string]int) {
	c.Helper()
	told := c.told().(tuple)
	if told[0] != atom("nxvk_spans") || told[1] != atom("nxvk_0") || string(told[2].([]byte)) != parent {
		c.Fatalf("got %v, want spans of %s", told, parent)
	}
	m := told[3]
	if got := get(c.T, m, "name"); got != name {
		c.Fatalf("the span is %v, want %v", got, name)
	}
	start, end := get(c.T, m, "start").(int64), get(c.T, m, "end").(int64)
	parts = make(map[string]int)
	for _, p := range get(c.T, m, "parts").(list) {
		from, to := get(c.T, p, "start").(int64), get(c.T, p, "end").(int64)
		if from < start || to < from || to > end {
			c.Errorf("%v lies outside of the %s from %d to %d", p, name, start, end)
		}
		key := string(get(c.T, p, "name").(atom))
		if place := get(c.T, p, "place"); place != atom("nil") {
			key += " " + string(place.(atom))
		}
		parts[key]++
	}
	return parts
}

func traced(id int64) etf.Term {
	return tuple{atom("traced"), []byte(parent), tuple{atom("download"), id}}
}

func run(id, n, operand int64, attrs ...etf.Term) etf.Term {
	return tuple{atom("run"), result(id, n), list{operand}, append(list{[]byte("square"), atom("nil")}, attrs...)}
}

// TestSpans: the node tells where the time of a run and of a read with a trace context went: on a
// device in submissions of its own, on the host as one part. What has no context tells nothing.
func TestSpans(t *testing.T) {
	const n = 1 << 14
	for name, change := range map[string]func(*testing.T) func(*DeviceConfig){
		"host":   func(*testing.T) func(*DeviceConfig) { return nil },
		"device": func(t *testing.T) func(*DeviceConfig) { return onDevice(t, vulkan.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newRig(t, change(t)).client()
			c.tensor(1, make([]float32, n)...)
			c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("square"), square(n)}})
			c.stream(run(2, n, 1, []byte(parent)), run(3, n, 2), run(4, n, 2, atom("nil")))
			got := c.spans("run")
			if got["queue"] != 1 || got["execute "+name] != 1 || got["transfer"] != 0 || (name == "device") != (got["compile"] > 0) {
				t.Errorf("a run has %v", got)
			}
			c.ok(tuple{atom("download"), int64(4)})
			c.stream(run(5, n, 2, []byte(parent)))
			if again := c.spans("run"); again["compile"] != 0 || again["execute "+name] != 1 {
				t.Errorf("the second run has %v", again)
			}
			if data := c.ok(traced(5)).([]byte); len(data) != 4*n {
				t.Errorf("%d bytes", len(data))
			}
			if got := c.spans("download"); got["queue"] != 1 || got["transfer"] != 1 || len(got) != 2 {
				t.Errorf("a read has %v", got)
			}
			c.stream(add(6, n, 5, 5))
			c.ok(traced(6))
			if got := c.spans("download"); got["transfer"] != 1 || (name == "device") != (got["execute device"] == 1) {
				t.Errorf("a read of a sum has %v", got)
			}
		})
	}
}

// TestSpansOfFailure: a run that fails tells why. A malformed context is an error of the run, or
// of the read.
func TestSpansOfFailure(t *testing.T) {
	c := newRig(t, nil).client()
	c.tensor(1, 1, 2)
	c.stream(run(2, 2, 1, []byte(parent))) // of no program
	told := c.told().(tuple)
	if text := get(t, told[3], "error").([]byte); told[0] != atom("nxvk_spans") || !strings.Contains(string(text), "square") && !strings.Contains(string(text), "program") {
		t.Errorf("got %v", told)
	}
	for _, bad := range []etf.Term{[]byte("00-4bf9-00f0-01"), int64(1), []byte(strings.ToUpper(parent)), []byte(parent + "\n"), []byte(nil)} {
		c.stream(run(3, 2, 1, bad))
		c.wantError(c.ask(c.server, tuple{atom("download"), int64(3)}), "bad_request")
		c.wantError(c.ask(c.server, tuple{atom("traced"), bad, tuple{atom("download"), int64(1)}}), "bad_request")
	}
	c.wantError(c.ask(c.server, tuple{atom("traced"), []byte(parent), atom("sync")}), "bad_request")
	c.wantFloats(1, 1, 2)
}

// TestSpansOfMany: each of many runs sent at once has spans, also those that the device has too much
// to do for to get submissions of their own.
func TestSpansOfMany(t *testing.T) {
	const n, runs = 1 << 14, 60
	c := newRig(t, onDevice(t, vulkan.Options{})).client()
	c.tensor(1, make([]float32, n)...)
	c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("square"), square(n)}})
	c.stream(run(2, n, 1))
	c.ok(tuple{atom("download"), int64(2), int64(0), int64(1)})
	var all list
	for id := int64(3); id < 3+runs; id++ {
		all = append(all, run(id, n, id-1, []byte(parent)))
	}
	c.stream(all...)
	for i := range runs {
		if got := c.spans("run"); got["queue"] != 1 || got["execute device"]+got["execute host"] == 0 {
			t.Errorf("run %d has %v", i, got)
		}
	}
	if data := c.ok(traced(2 + runs)).([]byte); len(data) != 4*n {
		t.Errorf("%d bytes", len(data))
	}
	c.spans("download")
}

// TestSpansOfLoop: a run that loops has spans when it ends.
func TestSpansOfLoop(t *testing.T) {
	c := newRig(t, nil).client()
	s := func(id int64) etf.Term { return tuple{id, atom("f32"), tuple{}} }
	one, ten := floats(1), floats(10)
	condition := tuple{list{s(2)}, list{tuple{atom("less"), list{tuple{int64(3), atom("u8"), tuple{}}}, list{int64(2), tuple{atom("f32"), ten}}, list(nil)}}, list{int64(3)}}
	body := tuple{list{s(4)}, list{tuple{atom("add"), list{s(5)}, list{int64(4), tuple{atom("f32"), one}}, list(nil)}}, list{int64(5)}}
	loop := tuple{list{s(1)}, list{tuple{atom("while"), list{s(6)}, list{int64(1)}, list{condition, body}}}, list{int64(6)}}
	c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("loop"), loop}},
		tuple{atom("run"), list{s(1)}, list{tuple{atom("f32"), one}}, list{[]byte("loop"), atom("nil"), []byte(parent)}})
	if got := c.spans("run"); got["queue"] != 1 || got["execute host"] != 1 {
		t.Errorf("a loop has %v", got)
	}
	c.wantFloats(1, 10)
}
