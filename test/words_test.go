package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldWords are words that this tree had for itself or with several meanings, and what stands in their places.
var fieldWords = map[string]string{
	"lane":       "subgroup invocation, component of a vector, or session queue",
	"rhythm":     "loop detector",
	"lookout":    "spin reader",
	"limbo":      "deferred free list",
	"leaper":     "leapfrog batcher",
	"cutter":     "partitioner",
	"asker":      "prefetch",
	"detour":     "reroute",
	"lobby":      "pending connections",
	"tier":       "specialization",
	"eliminated": "LU factorization",
}

// TestWords: code and documents say what the field says.
func TestWords(t *testing.T) {
	var private []string
	for word := range fieldWords {
		private = append(private, word)
	}
	pattern := regexp.MustCompile(`(?i)\b(` + strings.Join(private, "|") + `)s?\b`)
	kinds := []string{".go", ".md", ".ex", ".exs", ".comp", ".glsl", ".nxs"}
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "_build", "deps", "shared"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(kinds, filepath.Ext(path)) || d.Name() == "words_test.go": // which names the words
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if word := pattern.FindStringSubmatch(line); word != nil {
				t.Errorf("%s:%d: %q: the field says %s", path, i+1, word[0], fieldWords[strings.ToLower(word[1])])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Errorf("%d files were read", files)
	}
}
