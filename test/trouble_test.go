package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// row is the first cell of a row of a table.
	row = regexp.MustCompile(`(?m)^\| ([^|]+) \|`)
	// part separates what a message always says from what it names: … or a word of capitals, of
	// two letters or more or N.
	part = regexp.MustCompile("…|`[^`]*`|/dev/\\S+|\\b(?:FILE|PATH|NAME|USER|N)\\b|\\d+|mode|group render")
	// joint is where a text goes on: a line of a heredoc, strings that are added.
	joint = regexp.MustCompile("\\\\\n\\s*|\"\\s*(?:\\+|<>)\\s*\"|\\s+")
)

// TestTrouble looks in the code for the messages that the guide of trouble explains.
func TestTrouble(t *testing.T) {
	text, err := os.ReadFile("../elixir/nx_vulkan_go/guides/trouble.md")
	if err != nil {
		t.Fatal(err)
	}
	code := sources(t)
	found := 0
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for _, message := range strings.Split(m[1], ", cannot") {
			for _, piece := range part.Split(message, -1) {
				piece = strings.Trim(joint.ReplaceAllString(piece, " "), " .,:;()*")
				if len(piece) < 9 || strings.HasPrefix(piece, "the message says") {
					continue
				}
				found++
				if !strings.Contains(code, piece) {
					t.Errorf("no message has %q, which the guide explains in %q", piece, m[1])
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d messages are found in the guide", found)
	}
}

// sources returns the code of the node and of the Elixir package, with one space where there
// are several.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"cmd", "gen", "node", "vulkan", "elixir/nx_vulkan_go/lib"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, _ fs.DirEntry, err error) error {
			ext := filepath.Ext(path)
			if err != nil || ext != ".go" && ext != ".ex" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return joint.ReplaceAllString(all.String(), " ")
}
