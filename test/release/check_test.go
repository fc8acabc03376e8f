package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/packaging/version"
)

// The versions of this repository agree.
func TestVersionsAgree(t *testing.T) {
	if _, err := versions(filepath.Join("..", "..")); err != nil {
		t.Error(err)
	}
}

// ready makes a repository from which 1.2.3 can be released.
func ready(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, version.Source, "package server\n\nconst Release = \"1.2.3\"\n")
	for _, c := range copies {
		write(t, root, c.file, "Something.\n"+c.before+"1.2.3"+c.after+" and more\n")
	}
	write(t, root, logs[0], "# Changelog\n\n## 1.2.3\n\n- a change\n\n## 1.2.2\n\n- another\n")
	write(t, root, logs[1], "# Changelog\n\n## v1.2.3\n\n* a change\n")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Somebody"}, {"config", "user.email", "somebody@localhost"}} {
		run(t, root, args...)
	}
	commit(t, root)
	return root
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, root string, args ...string) {
	t.Helper()
	if _, err := git(root, args...); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	run(t, root, "add", "-A")
	run(t, root, "commit", "-q", "-m", "all", "--no-gpg-sign", "--allow-empty")
}

// Each fault is found by the check that looks for it and by no other, and is told with
// what to do.
func TestChecks(t *testing.T) {
	replace := func(file, old, new string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || !strings.Contains(string(text), old) {
				t.Fatalf("%s has no %q: %v", file, old, err)
			}
			write(t, root, file, strings.ReplaceAll(string(text), old, new))
			commit(t, root)
		}
	}
	for _, x := range []struct {
		name  string
		spoil func(t *testing.T, root string)
		check string // that fails; none where empty
		says  string
	}{
		{"ready", func(*testing.T, string) {}, "", ""},
		{"the node differs from the package", replace(copies[0].file, "1.2.3", "1.2.4"), "versions", "nx_vulkan_go/mix.exs has 1.2.4"},
		{"the protocol differs", replace("gen/README.md", "1.2.3", "1.2"), "versions", "gen/README.md has 1.2,"},
		{"a package has no version", replace(copies[1].file, "@version", "@vision"), "versions", "no version between"},
		{"changes are not released", replace(logs[0], "## 1.2.3", "## Unreleased"), "change logs", "Unreleased"},
		{"the log is old", replace(logs[1], "v1.2.3", "v1.2.2"), "change logs", "must be ## 1.2.3"},
		{"the section is empty", replace(logs[0], "- a change\n", ""), "change logs", "says nothing of 1.2.3"},
		{"the tag is this commit's", func(t *testing.T, root string) { run(t, root, "tag", "v1.2.3") }, "", ""},
		{"the tag is taken", func(t *testing.T, root string) { run(t, root, "tag", "v1.2.3"); commit(t, root) }, "tag", "raise the version"},
		{"a file is not committed", func(t *testing.T, root string) { write(t, root, "scratch", "") }, "tree", "?? scratch"},
		{"a file is changed", func(t *testing.T, root string) { write(t, root, logs[0], "# Changelog\n\n## 1.2.3\n\n- other\n") }, "tree", " M CHANGELOG.md"},
	} {
		t.Run(x.name, func(t *testing.T) {
			root := ready(t)
			x.spoil(t, root)
			for _, c := range checks {
				_, err := c.run(root)
				if (err != nil) != (c.name == x.check) {
					t.Errorf("%s: %v", c.name, err)
				}
				if c.name == x.check && err != nil && !strings.Contains(err.Error(), x.says) {
					t.Errorf("%v; must say %q", err, x.says)
				}
			}
		})
	}
}

// A version that is none is refused.
func TestNoVersion(t *testing.T) {
	root := ready(t)
	write(t, root, version.Source, `const Release = "soon"`)
	if _, err := versions(root); err == nil || !strings.Contains(err.Error(), "MAJOR.MINOR.PATCH") {
		t.Error(err)
	}
}
