package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// permitted are the licences that dependencies may have: they ask for their text and for
// nothing else.
var permitted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// legal matches names of files with terms.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([-._].*)?$`)

// grant matches the names of files that add to a licence, and are none.
var grant = regexp.MustCompile(`(?i)(^|/)(notice|patents|copyright)([-._].*)?$`)

// covered is how much of a file, in percent, a known licence must cover to be recognized.
const covered = 75

// dependency is a module that is linked into the node. Go's standard library counts as one.
type dependency struct {
	path, version string
	licence       string            // SPDX's expression
	texts         map[string][]byte // by name, relative to the module
}

// listed is what `go list` says of a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// dependencies lists the modules that the node for a target is linked with, by path.
func (t target) dependencies(root string) ([]dependency, error) {
	out, err := output(root, t.env(), "go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/nxvk-node")
	if err != nil {
		return nil, err
	}
	std, err := standardLibrary(root, t.env())
	if err != nil {
		return nil, err
	}
	found := map[string]*dependency{std.path: std}
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := p.Module
		path, version := m.Path, m.Version
		if m.Replace != nil {
			path, version = m.Replace.Path, m.Replace.Version
		}
		if found[path] == nil {
			found[path] = &dependency{path: path, version: version, texts: map[string][]byte{}}
		}
		if err := found[path].read(m.Dir, p.Dir); err != nil {
			return nil, err
		}
	}
	var all []dependency
	for _, d := range found {
		if err := d.classify(); err != nil {
			return nil, err
		}
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// standardLibrary is Go's, with the terms of the installation that compiles.
func standardLibrary(root string, env []string) (*dependency, error) {
	out, err := output(root, env, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	goroot, version, _ := strings.Cut(out, "\n")
	d := &dependency{path: "std", version: strings.TrimPrefix(version, "go"), texts: map[string][]byte{}}
	// Debian keeps the terms with those of its package.
	for _, dir := range []string{goroot, "/usr/share/doc/golang-go"} {
		if err := d.read(dir, dir); err == nil && len(d.texts) > 0 {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no licence of Go in %s: install Go from go.dev/dl", goroot)
}

// read reads the files with terms from the folder of a package up to that of its module.
func (d *dependency) read(module, dir string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !legal.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			path := filepath.Join(dir, e.Name())
			name, err := filepath.Rel(module, path)
			if err != nil {
				return err
			}
			if d.texts[filepath.ToSlash(name)], err = os.ReadFile(path); err != nil {
				return err
			}
		}
		if dir == module {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// classify finds which licences the texts are, all of which must be permitted.
func (d *dependency) classify() error {
	var names []string
	for name, text := range d.texts {
		if grant.MatchString(name) {
			continue
		}
		scan := licensecheck.Scan(text)
		if scan.Percent < covered {
			return fmt.Errorf("%s: its file %s is no licence that is known: read it, and leave the module out unless its terms are those of a permitted one", d.path, name)
		}
		for _, m := range scan.Match {
			if !slices.Contains(permitted, m.ID) {
				return fmt.Errorf("%s has the licence %s: only %s are permitted", d.path, m.ID, strings.Join(permitted, ", "))
			}
			if !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s %s has no file with its licence: leave the module out", d.path, d.version)
	}
	slices.Sort(names)
	d.licence = strings.Join(names, " AND ")
	return nil
}
