// Package version reads the version of a tree: the constant Release of gen/server. Programs
// that check or make a release read it from the source, so that they link neither the node
// nor a driver.
package version

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// Source is the file that has the version, relative to the root of the repository.
const Source = "gen/server/version.go"

// semantic is MAJOR.MINOR.PATCH, perhaps with a pre-release.
var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9a-z.]+)?$`)

// Find finds the text between two others in a file, relative to root.
func Find(root, file, before, after string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(regexp.QuoteMeta(before) + `(\S+?)` + regexp.QuoteMeta(after)).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s has no version between %q and %q: write it there", file, before, after)
	}
	return string(m[1]), nil
}

// Read reads the version of the tree at root.
func Read(root string) (string, error) {
	v, err := Find(root, Source, `const Release = "`, `"`)
	if err != nil {
		return "", err
	}
	if !semantic.MatchString(v) {
		return "", fmt.Errorf("%s has %q: write MAJOR.MINOR.PATCH", Source, v)
	}
	return v, nil
}
