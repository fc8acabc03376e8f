package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"

	"nxvk/packaging/version"
)

// full makes the release of every target; otherwise that of linux/amd64 is made.
var full = flag.Bool("full", false, "make the release of every target, twice")

// maxArchive is the number of bytes that an archive may have.
const maxArchive = 15e6

// made is a release that TestRelease has made from a tag.
type made struct {
	dir, root, version string
	targets            []target
}

// TestRelease makes the release of a tag twice, in folders with different names, and looks
// at what is in it. With -short it makes one.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("releases are made on linux/amd64")
	}
	for _, tool := range []string{"gcc", "dpkg-deb", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	if _, err := findSysroot(); err != nil {
		if network := (*url.Error)(nil); errors.As(err, &network) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "another", "folder")
	v := tagTree(t, a)
	if _, err := git("", "clone", "-q", a, b); err != nil {
		t.Fatal(err)
	}
	first := makeRelease(t, a, v)
	t.Run("the same bytes", func(t *testing.T) {
		if testing.Short() {
			t.Skip("another release takes as long as the first one, and -short is set")
		}
		compare(t, first.dir, makeRelease(t, b, v).dir)
	})
	t.Run("checksums", func(t *testing.T) { checkSums(t, first) })
	for _, x := range first.targets {
		t.Run(x.String(), func(t *testing.T) { checkArchive(t, first, x) })
	}
	deb := filepath.Join(first.dir, "nxvk-node_"+first.version+"_linux_amd64.deb")
	t.Run("package", func(t *testing.T) { checkPackage(t, deb, first.version) })
	t.Run("unit", func(t *testing.T) { checkUnit(t, deb) })
	t.Run("installed", func(t *testing.T) { checkInstalled(t, deb, first.version) })
	if !*full {
		return
	}
	t.Run("booted", func(t *testing.T) { checkBooted(t, deb) })
	t.Run("container", func(t *testing.T) {
		checkContainer(t, filepath.Join(first.dir, "nxvk-node_"+first.version+"_linux_amd64.tar.gz"), first.version)
	})
}

// tagTree copies the tree to a folder, commits it there at a fixed time and tags it with its
// version, which it returns.
func tagTree(t *testing.T, root string) string {
	t.Helper()
	v, err := version.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	copyTree(t, "../..", root)
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.name", "Somebody"}, {"config", "user.email", "somebody@localhost"},
		{"add", "-A"}, {"commit", "-q", "-m", "all", "--no-gpg-sign"}, {"tag", "v" + v},
	} {
		if _, err := git(root, args...); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// makeRelease makes the release of the tag in a folder, which must have version v.
func makeRelease(t *testing.T, root, v string) made {
	t.Helper()
	names, selected := "linux/amd64", targets[:1]
	if *full {
		names, selected = "", targets
	}
	r := release{root: root, out: t.TempDir()}
	if err := r.run(names); err != nil {
		t.Fatal(err)
	}
	if r.version != v {
		t.Errorf("the tag v%s gives the version %s", v, r.version)
	}
	return made{r.out, root, r.version, selected}
}

// copyTree copies the files of a repository that git knows or would add.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	list, err := git(from, "ls-files", "-co", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(list) {
		name = strings.TrimSuffix(name, "\n")
		st, err := os.Lstat(filepath.Join(from, name))
		if err != nil || !st.Mode().IsRegular() {
			continue // removed, and not committed yet
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = install(filepath.Join(to, name), data, st.Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func compare(t *testing.T, a, b string) {
	entries, err := os.ReadDir(a)
	if err != nil || len(entries) < 4 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		x, errX := os.ReadFile(filepath.Join(a, e.Name()))
		y, errY := os.ReadFile(filepath.Join(b, e.Name()))
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Errorf("%s is not the same twice: %d and %d bytes, %v, %v", e.Name(), len(x), len(y), errX, errY)
		}
	}
}

// checkSums has each file of the release but checksums.txt in that, with its sum.
func checkSums(t *testing.T, m made) {
	text, err := os.ReadFile(filepath.Join(m.dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		if e.Name() == "checksums.txt" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if string(text) != want.String() {
		t.Errorf("checksums.txt has\n%swant\n%s", text, &want)
	}
	inside, err := os.ReadFile(filepath.Join(m.root, elixirPriv, "checksums.txt"))
	if err != nil || !bytes.Equal(inside, text) {
		t.Errorf("the Elixir package has other checksums than the release: %v\n%s", err, inside)
	}
	if changed, err := git(m.root, "status", "--porcelain"); err != nil || changed != "" {
		t.Errorf("a release changes the tree of its tag: %v\n%s", err, changed)
	}
}

// checkArchive looks at the files of an archive, and at the program by what the Go tool
// has written into it.
func checkArchive(t *testing.T, m made, x target) {
	b := bundle{target: x, version: m.version}
	path := filepath.Join(m.dir, b.archive())
	if st, err := os.Stat(path); err != nil || st.Size() > maxArchive {
		t.Fatalf("%v: an archive may have %d bytes; %v", st.Size(), int(maxArchive), err)
	}
	files := unpackArchive(t, path)
	for _, name := range []string{x.binary(), "LICENSE", "README.md", "nxvk-node.spdx.json", "licenses/std/LICENSE"} {
		if len(files[name]) == 0 {
			t.Errorf("there is no %s in %s", name, path)
		}
	}
	info, err := buildinfo.Read(bytes.NewReader(files[x.binary()]))
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	cgo := "0"
	if x.cgo {
		cgo = "1"
	}
	if set["GOOS"] != x.os || set["GOARCH"] != x.arch || set["CGO_ENABLED"] != cgo || set["-trimpath"] != "true" || set["vcs.modified"] != "false" {
		t.Errorf("the settings of the build are %v", set)
	}
	checkBill(t, files, info.Deps)
}

// checkBill compares the bill of materials and the licences with the modules in the program.
func checkBill(t *testing.T, files map[string][]byte, deps []*debug.Module) {
	doc, err := spdxjson.Read(bytes.NewReader(files["nxvk-node.spdx.json"]))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	var listed, linked []string
	for _, p := range doc.Packages {
		if p.PackageName != "nxvk-node" && p.PackageName != "std" {
			listed = append(listed, p.PackageName+"@"+p.PackageVersion)
		}
	}
	for _, d := range deps {
		if d.Replace != nil {
			d = d.Replace
		}
		linked = append(linked, d.Path+"@"+d.Version)
		found := false
		for name := range files {
			found = found || strings.HasPrefix(name, "licenses/"+d.Path+"/")
		}
		if !found {
			t.Errorf("the licence of %s is not in the archive", d.Path)
		}
	}
	slices.Sort(listed)
	slices.Sort(linked)
	if len(linked) == 0 || !slices.Equal(listed, linked) {
		t.Errorf("the bill lists\n%v\nthe program has\n%v", listed, linked)
	}
}

// unpackArchive reads the files of a .zip or .tar.gz.
func unpackArchive(t *testing.T, path string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if filepath.Ext(path) == ".zip" {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if files[f.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
