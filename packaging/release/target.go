package main

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// glibc is the newest version of the C library that a release may need: that of Debian 11.
const glibc = "2.31"

// target is a system that a release is built for.
type target struct {
	os, arch string
	cgo      bool   // calls Vulkan by C code; otherwise by purego, with CGO_ENABLED=0
	debian   string // Debian's name of the architecture, where a package is made
}

var targets = []target{
	{os: "linux", arch: "amd64", cgo: true, debian: "amd64"},
	{os: "linux", arch: "arm64"},
	{os: "freebsd", arch: "amd64"},
	{os: "freebsd", arch: "arm64"},
	{os: "darwin", arch: "amd64"},
	{os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// binary is the name of the program.
func (t target) binary() string {
	if t.os == "windows" {
		return "nxvk-node.exe"
	}
	return "nxvk-node"
}

// selectTargets finds targets by their names, such as linux/amd64; no names are all targets.
func selectTargets(names string) ([]target, error) {
	if names == "" {
		return targets, nil
	}
	var found []target
	for name := range strings.SplitSeq(names, ",") {
		n := len(found)
		for _, t := range targets {
			if t.String() == name {
				found = append(found, t)
			}
		}
		if len(found) == n {
			return nil, fmt.Errorf("there is no target %q: give some of %v", name, targets)
		}
	}
	return found, nil
}

// env is the environment of the Go tool for a target. Settings of the user that would enter
// the program are left out.
func (t target) env() []string {
	var env []string
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); {
		case strings.HasPrefix(name, "CGO_"), name == "GOFLAGS", name == "GOEXPERIMENT", name == "GOAMD64", name == "GOARM64", name == "CC":
		default:
			env = append(env, e)
		}
	}
	cgo := "0"
	if t.cgo {
		cgo = "1"
	}
	return append(env, "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED="+cgo, "GOFLAGS=-mod=readonly")
}

// build compiles the node without symbols, paths and build ids.
func (t target) build(root, out string) error {
	env := t.env()
	if t.cgo {
		sysroot, err := findSysroot()
		if err != nil {
			return fmt.Errorf("the C library of Debian 11: %w", err)
		}
		// gcc looks into folders beside its own before it looks into the sysroot; -B comes
		// before them.
		env = append(env, "CC=gcc --sysroot="+sysroot+" -B"+filepath.Join(sysroot, "usr/lib/x86_64-linux-gnu"))
	}
	path, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	flags, err := output(root, nil, "sh", "test/goflags.sh", t.os)
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", path}
	args = append(append(args, strings.Fields(flags)...), "./cmd/nxvk-node")
	if _, err := output(root, env, "go", args...); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return checkGlibc(path)
}

// checkCommit refuses a program into which the Go tool has not written this commit, as in a
// linked work tree of git: its bytes would differ from those that a clone gives. An empty
// commit is any.
func checkCommit(path, commit string) error {
	if commit == "" {
		return nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value == commit {
			return nil
		}
	}
	return fmt.Errorf("the program does not name the commit %s: make the release of a tag in a clone of its own", commit)
}

// checkGlibc refuses a program that needs a C library newer than that of Debian 11.
func checkGlibc(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if v, ok := strings.CutPrefix(s.Version, "GLIBC_"); ok && newer(v, glibc) {
			return fmt.Errorf("%s is of glibc %s; a release may need %s at most: link it with the C library of Debian 11", s.Name, v, glibc)
		}
	}
	return nil
}

// newer reports whether version a, such as 2.31, is after b.
func newer(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return false
}
