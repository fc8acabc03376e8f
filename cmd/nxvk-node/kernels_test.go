package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nxvk/synth"
	"nxvk/vulkan"
)

// made is kernels that took so many milliseconds.
func made(took ...int) []*compiled {
	var all []*compiled
	for i, ms := range took {
		all = append(all, &compiled{Listed: synth.Listed{Kernel: &synth.Kernel{Code: make([]uint32, 10+i)}, For: fmt.Sprint("k", i)},
			number: i, family: "f", took: time.Duration(ms) * time.Millisecond})
	}
	return all
}

func TestKernelReport(t *testing.T) {
	given, failed := made(5, 30000), made(5)
	given[1].err, failed[0].err = errGivenUp, errors.New("no")
	for _, c := range []struct {
		name string
		all  []*compiled
		of   int
		want string // in the error; none where empty
	}{
		{"all fast", made(5, 499, 500), 3, ""},
		{"one slow", made(5, 501, 7), 3, "longer than 500ms for 1 kernels"},
		{"given up", given, 2, "longer than 500ms for 1 kernels"},
		{"not compiled", made(5), 3, "2 kernels were not compiled"},
		{"refused by the driver", failed, 1, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			k := kernelCheck{limit: 500 * time.Millisecond, out: &out}
			err := k.report(c.all, c.of)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The report lists the slowest kernels first, and no more than ten.
func TestKernelReportOrder(t *testing.T) {
	var out strings.Builder
	k := kernelCheck{limit: time.Second, show: slowest, out: &out}
	if err := k.report(made(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 12); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+slowest || !strings.Contains(lines[1], "k11") || !strings.Contains(lines[slowest], "k2") {
		t.Errorf("got %s", out.String())
	}
}

// A driver compiles kernels of each family.
func TestKernelCheck(t *testing.T) {
	var out strings.Builder
	k := kernelCheck{family: "products", limit: time.Hour, give: time.Hour, jobs: 2, alone: "0,5", out: &out}
	err := k.run(t.Context())
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want one for each kernel: %s", n, out.String())
	}
	out.Reset()
	k.cases, k.alone = filepath.Join(t.TempDir(), "cases"), "0"
	text := "# a sum\n(%1:f32[3000,2]) {\n  %2:f32[2] = sum %1 axes=[0] keep_axes=false\n  give %2\n}\n"
	if err := os.WriteFile(k.cases, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.run(t.Context()); err != nil || !strings.HasPrefix(out.String(), "0 ") {
		t.Errorf("a kernel of a case: %v, %q", err, out.String())
	}
	k.cases = ""
	if k.family, k.alone = "no such family", ""; !errors.Is(k.run(t.Context()), errUsage) {
		t.Error("an unknown family is not an error of usage")
	}
}
