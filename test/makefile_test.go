package test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestBSDMake: the make of a BSD calls GNU make, and says what is missing if there
// is none.
func TestBSDMake(t *testing.T) {
	bsd, err := exec.LookPath("bmake")
	if err != nil {
		t.Skip("no bmake")
	}
	gnu, err := exec.LookPath("gmake")
	if err != nil {
		t.Skip("no gmake")
	}
	in := func(path string, args ...string) (string, error) {
		c := exec.Command(path, args...)
		c.Dir = ".."
		out, err := c.CombinedOutput()
		return string(out), err
	}
	want, err := in(gnu, "--no-print-directory", "help")
	if err != nil || !strings.Contains(want, "test-full") {
		t.Fatalf("%v\n%s", err, want)
	}
	if got, err := in(bsd, "help"); err != nil || got != want {
		t.Errorf("help of bmake: %v\n%s", err, got)
	}
	for line := range strings.Lines(want) {
		target := strings.Fields(line)[0]
		got, err := in(bsd, "GMAKE=echo", "GO=a b", target)
		if err != nil || !strings.Contains(got, "GO=a b") || !strings.HasSuffix(got, " "+target+"\n") {
			t.Errorf("%s is handed on as %q, %v", target, got, err)
		}
	}
	if got, err := in(bsd, "GMAKE=no-such-make", "build"); err == nil || !strings.Contains(got, "pkg install gmake") {
		t.Errorf("without GNU make: %v\n%s", err, got)
	}
}
