package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/packaging/version"
)

// treeOf makes a repository of version 1.2.3 with one commit.
func treeOf(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := install(filepath.Join(root, version.Source), []byte("package server\n\nconst Release = \"1.2.3\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.name", "Somebody"}, {"config", "user.email", "somebody@localhost"},
		{"add", "-A"}, {"commit", "-q", "-m", "all", "--no-gpg-sign"},
	} {
		if _, err := git(root, args...); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A release has the version of its tag, or one that is given and is that of the tree.
func TestVersion(t *testing.T) {
	for _, x := range []struct {
		name, given, want, says string
		spoil                   func(root string) error
	}{
		{name: "no tag", says: "no tag v1.2.3"},
		{name: "given", given: "1.2.3", want: "1.2.3"},
		{name: "given as a tag", given: "v1.2.3", want: "1.2.3"},
		{name: "a pre-release", given: "1.2.3-rc.1", want: "1.2.3-rc.1"},
		{name: "another", given: "1.2.4", says: "has 1.2.3: give that"},
		{name: "tagged", want: "1.2.3", spoil: func(root string) error {
			_, err := git(root, "tag", "v1.2.3")
			return err
		}},
		{name: "tagged and changed", says: "?? scratch", spoil: func(root string) error {
			if _, err := git(root, "tag", "v1.2.3"); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(root, "scratch"), nil, 0o644)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := release{root: treeOf(t), version: x.given}
			if x.spoil != nil {
				if err := x.spoil(r.root); err != nil {
					t.Fatal(err)
				}
			}
			err := r.findVersion()
			if x.says == "" && (err != nil || r.version != x.want) {
				t.Errorf("the version is %q, %v; want %q", r.version, err, x.want)
			}
			if x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
				t.Errorf("%v; must say %q", err, x.says)
			}
		})
	}
}

// SOURCE_DATE_EPOCH is the time of files, else that of the commit.
func TestEpoch(t *testing.T) {
	t.Setenv("GIT_COMMITTER_DATE", "1700000000 +0200")
	r := release{root: treeOf(t)}
	for given, want := range map[string]int64{"": 1700000000, "1600000000": 1600000000} {
		t.Setenv("SOURCE_DATE_EPOCH", given)
		if err := r.findEpoch(); err != nil || r.epoch.Unix() != want {
			t.Errorf("%q gives %v, %v", given, r.epoch, err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := r.findEpoch(); err == nil {
		t.Error("yesterday is taken")
	}
}

func TestSelectTargets(t *testing.T) {
	if all, err := selectTargets(""); err != nil || len(all) != 7 {
		t.Errorf("%v, %v", all, err)
	}
	if two, err := selectTargets("windows/amd64,linux/arm64"); err != nil || len(two) != 2 || two[0].os != "windows" {
		t.Errorf("%v, %v", two, err)
	}
	if _, err := selectTargets("linux/amd64,plan9/amd64"); err == nil || !strings.Contains(err.Error(), "freebsd/arm64") {
		t.Errorf("%v; must list the targets", err)
	}
}

func TestNewer(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{{"2.34", "2.31", true}, {"2.31", "2.31", false}, {"2.4", "2.31", false}, {"2.2.5", "2.31", false}, {"2.31.1", "2.31", true}, {"3.0", "2.31", true}} {
		if got := newer(x.a, x.b); got != x.want {
			t.Errorf("newer(%s, %s) = %v", x.a, x.b, got)
		}
	}
}

// A program without the commit of its tag is refused.
func TestCheckCommit(t *testing.T) {
	self, err := os.Executable() // go test writes no commit
	if err != nil {
		t.Fatal(err)
	}
	if err := checkCommit(self, ""); err != nil {
		t.Errorf("without a tag: %v", err)
	}
	if err := checkCommit(self, "0123456789"); err == nil || !strings.Contains(err.Error(), "a clone of its own") {
		t.Errorf("with a tag: %v", err)
	}
}

// A program that is linked with a newer C library than Debian 11's is refused.
func TestCheckGlibc(t *testing.T) {
	said, err := output("", nil, "getconf", "GNU_LIBC_VERSION")
	if err != nil || !newer(strings.TrimPrefix(said, "glibc "), "2.33") {
		t.Skipf("this machine has %q, which gives no symbols newer than %s", said, glibc)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := output("", nil, "gcc", "-o", program, source); err != nil {
		t.Skip(err)
	}
	if err := checkGlibc(program); err == nil || !strings.Contains(err.Error(), "__libc_start_main is of glibc 2.34") {
		t.Errorf("%v; must name the symbol", err)
	}
}

// A licence that is not permitted, terms that nobody knows and no terms at all are refused.
func TestClassify(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	d := dependency{path: "example.org/a", texts: map[string][]byte{"LICENSE": apache, "NOTICE": []byte("Made by somebody.")}}
	if err := d.classify(); err != nil || d.licence != "Apache-2.0" {
		t.Errorf("%q, %v", d.licence, err)
	}
	zeroClauses := `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY
DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION,
ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`
	for says, texts := range map[string]map[string][]byte{
		"the licence 0BSD":  {"LICENSE": []byte(zeroClauses)},
		"no licence that":   {"LICENSE": apache, "sub/COPYING": []byte("Ask me before you use this at work on Sundays.")},
		"no file with its":  {},
		"leave the module ": {"NOTICE": []byte("Made by somebody.")},
	} {
		d := dependency{path: "example.org/a", texts: texts}
		if err := d.classify(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; must say %q", err, says)
		}
	}
}

// A mirror whose package has other bytes is refused, with both sums.
func TestFetchRefuses(t *testing.T) {
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("other")) }))
	defer mirror.Close()
	t.Setenv("NXVK_DEBIAN_MIRROR", mirror.URL)
	err := unpack(sysroot[0].file, sysroot[0].sum, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), sysroot[0].sum) || !strings.Contains(err.Error(), "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa") {
		t.Error(err)
	}
}

// Absolute links point into the folder afterwards.
func TestRelink(t *testing.T) {
	root := t.TempDir()
	if err := install(filepath.Join(root, "lib/libc.so.6"), []byte("a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"usr/lib/libc.so": "/lib/libc.so.6", "usr/lib/kept.so": "libc.so"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := relink(root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"usr/lib/libc.so", "usr/lib/kept.so"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != "a library" {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
