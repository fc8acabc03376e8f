// Command build compiles the kernels of the folder it runs in, the package
// nxvk/shaders, and writes their manifest. It needs glslangValidator. Variants
// whose sources did not change are left as they are; -all compiles them too.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"nxvk/shaders"
)

func main() {
	all := flag.Bool("all", false, "compile what is up to date too")
	flag.Parse()
	if err := build(*all); err != nil {
		fmt.Fprintln(os.Stderr, "build shaders:", err)
		os.Exit(1)
	}
}

func build(all bool) error {
	recorded := shaders.Manifest()
	variants := shaders.Variants()
	var list strings.Builder
	fmt.Fprintln(&list, "# hash of source, includes and flags; binary. Written by go generate ./shaders.")
	var work []shaders.Variant
	keep := make(map[string]bool)
	for _, v := range variants {
		hash, err := v.Hash(os.DirFS("."))
		if err != nil {
			return err
		}
		fmt.Fprintln(&list, hash, v.Name)
		keep[binary(v)] = true
		_, err = os.Stat(binary(v))
		if all || recorded[v.Name] != hash || err != nil {
			work = append(work, v)
		}
	}
	if err := compileAll(work); err != nil {
		return err
	}
	if err := removeOthers(keep); err != nil {
		return err
	}
	return os.WriteFile("manifest", []byte(list.String()), 0o644)
}

func binary(v shaders.Variant) string { return filepath.Join("spv", v.Name+".spv") }

// compileAll compiles two at a time and returns the first failure.
func compileAll(work []shaders.Variant) error {
	errs := make([]error, len(work))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, v := range work {
		wg.Go(func() {
			slots <- struct{}{}
			errs[i] = compile(v)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func compile(v shaders.Variant) error {
	args := append([]string{}, shaders.Flags...)
	for _, d := range v.Defines {
		args = append(args, "-D"+d)
	}
	out, err := exec.Command("glslangValidator", append(args, v.Source, "-o", binary(v))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile %s: %w\n%s", v.Name, err, out)
	}
	return nil
}

// removeOthers deletes binaries that no variant names.
func removeOthers(keep map[string]bool) error {
	found, err := filepath.Glob("spv/*.spv")
	if err != nil {
		return err
	}
	for _, path := range found {
		if !keep[path] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}
