//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The build without C code runs under musl, where its dynamic linker is named: it serves, and looks
// for a loader of Vulkan that is of musl.
func TestMusl(t *testing.T) {
	linkers, err := filepath.Glob("/lib/ld-musl-*.so.1")
	if err != nil {
		t.Fatal(err)
	}
	if len(linkers) == 0 {
		t.Skip("musl is not installed (Debian: apt-get install musl)")
	}
	path := filepath.Join(t.TempDir(), "nxvk-node")
	build := exec.Command("go", "build", "-ldflags", "-I "+linkers[0], "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := program(path, t.TempDir(), "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "Vulkan by purego") {
		t.Errorf("version: %v\n%s", err, out)
	}
	// The loader of this machine is of glibc: musl looks in other folders.
	if out, _ := program(path, t.TempDir(), "doctor").CombinedOutput(); !strings.Contains(string(out), "Error loading shared library libvulkan.so.1") {
		t.Errorf("doctor did not ask musl for the loader:\n%s", out)
	}
	serve(t, program(path, t.TempDir(), runFlags(t, "--device", "host")...))
}
