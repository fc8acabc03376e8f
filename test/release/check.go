package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"nxvk/packaging/version"
)

// checks are what a release needs, in the order in which one mends it.
var checks = []struct {
	name string
	run  func(root string) (said string, err error)
}{
	{"versions", versions},
	{"change logs", changeLogs},
	{"tag", tag},
	{"tree", clean},
}

// copies are the other places that have the version: a file and what is around it there.
var copies = []struct{ file, before, after string }{
	{"elixir/nx_vulkan_go/mix.exs", `@version "`, `"`},
	{"elixir/nx_vulkan/mix.exs", `@version "`, `"`},
	{"gen/README.md", "This is version ", " of the protocol"},
}

// logs are the files with a section for each release.
var logs = []string{"CHANGELOG.md", "elixir/nx_vulkan_go/CHANGELOG.md"}

// versions compares all places that have the version.
func versions(root string) (string, error) {
	want, err := version.Read(root)
	if err != nil {
		return "", err
	}
	for _, c := range copies {
		got, err := version.Find(root, c.file, c.before, c.after)
		if err != nil {
			return "", err
		}
		if got != want {
			return "", fmt.Errorf("%s has %s, but %s has %s: make them equal", c.file, got, version.Source, want)
		}
	}
	return want + " everywhere", nil
}

// changeLogs looks for the section of the release, which comes first and says something.
func changeLogs(root string) (string, error) {
	want, err := version.Read(root)
	if err != nil {
		return "", err
	}
	for _, file := range logs {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		_, first, ok := strings.Cut(string(text), "\n## ")
		if !ok {
			return "", fmt.Errorf("%s has no section: write one, ## %s", file, want)
		}
		title, rest, _ := strings.Cut(first, "\n")
		if strings.TrimPrefix(title, "v") != want {
			return "", fmt.Errorf("%s begins with the section %q: it must be ## %s", file, title, want)
		}
		section, _, _ := strings.Cut(rest, "\n## ")
		if !regexp.MustCompile(`(?m)^[-*] `).MatchString(section) {
			return "", fmt.Errorf("%s says nothing of %s: list what users see", file, want)
		}
	}
	return strings.Join(logs, " and ") + " have their sections", nil
}

// tag looks whether the tag of the release is free, or names this commit.
func tag(root string) (string, error) {
	want, err := version.Read(root)
	if err != nil {
		return "", err
	}
	name := "v" + want
	tags, err := git(root, "tag", "--list", name)
	if err != nil || tags == "" {
		return name + " is free", err
	}
	at, err := git(root, "rev-parse", name+"^{commit}")
	if err != nil {
		return "", err
	}
	head, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if at != head {
		return "", fmt.Errorf("%s is the tag of another commit: raise the version in %s", name, version.Source)
	}
	return name + " is this commit", nil
}

// clean looks for files that no commit has.
func clean(root string) (string, error) {
	changed, err := git(root, "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("commit these or remove them:\n%s", changed)
	}
	return "all is committed", nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
