package server

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/vulkan"
)

// An explanation of many parts, which is made apart from the goroutine of the server, has them all
// in order.
func TestExplainLong(t *testing.T) {
	const n = 5 * manyParts
	c := newRig(t, nil).client()
	body := list{}
	for i := range int64(n) {
		body = append(body, add(2+i, 3, 1+i, 1))
	}
	c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("long"), tuple{result(1, 3), body, list{int64(n + 1)}}}})
	parts := c.ok(tuple{atom("explain"), []byte("long")}).(list)
	if len(parts) != n {
		t.Fatalf("%d parts, want %d", len(parts), n)
	}
	for i, p := range parts {
		if line, want := string(get(t, p, "instructions").(list)[0].([]byte)), fmt.Sprintf("%%%d:f32[3] = add ", i+2); !strings.HasPrefix(line, want) {
			t.Fatalf("part %d is %q, want %q", i, line, want)
		}
	}
}

// What runs is told as a term: maps with the same keys for every part.
func TestExplain(t *testing.T) {
	c := newRig(t, onDevice(t, vulkan.Options{})).client()
	key := []byte("double")
	body := list{add(2, 3, 1, 1), tuple{atom("exp"), result(3, 3), list{int64(2)}, list(nil)}}
	region := tuple{result(1, 3), body, list{int64(3)}}
	c.stream(tuple{atom("program"), list(nil), list(nil), list{key, region}})
	parts := c.ok(tuple{atom("explain"), key}).(list)
	if len(parts) != 1 {
		t.Fatalf("%d parts: %v", len(parts), parts)
	}
	if place := get(t, parts[0], "place"); place != atom("device") {
		t.Errorf("the place is %v", place)
	}
	lines := get(t, parts[0], "instructions").(list)
	if len(lines) != 2 || string(lines[1].([]byte)) != "%3:f32[3] = exp %2" {
		t.Errorf("the instructions are %q", lines)
	}
	why := get(t, parts[0], "why").(list)
	if len(why) != 2 || string(why[0].([]byte)) != "joined by pointwise" || string(why[1].([]byte)) != "%3 is a result" {
		t.Errorf("the reasons are %q", why)
	}
	kernels := get(t, parts[0], "kernels").(list)
	if len(kernels) != 1 || len(get(t, kernels[0], "grid").(tuple)) != 3 || len(get(t, kernels[0], "name").([]byte)) == 0 {
		t.Fatalf("the kernels are %v", kernels)
	}
	for _, name := range []atom{"bytes", "flops", "seconds"} {
		if sum := get(t, parts[0], name); sum != get(t, kernels[0], name) || sum == int64(0) {
			t.Errorf("%s: %v", name, sum)
		}
	}
	measured := c.ok(tuple{atom("explain"), key, atom("profile")}).(list)
	if x, ok := get(t, measured[0], "measured").(float64); !ok || x <= 0 || x > 10 {
		t.Errorf("measured: %v", get(t, measured[0], "measured"))
	}
	text := c.wantError(c.ask(c.server, tuple{atom("explain"), []byte("other")}), "unknown_program")
	if !strings.Contains(text, "no program") {
		t.Errorf("a program that is not there: %s", text)
	}
	c.wantError(c.ask(c.server, tuple{atom("explain"), []byte{}}), "bad_request")
}
