package kerneltest

import (
	"os"
	"path/filepath"
	"testing"
)

// Any text is read or refused; what is read prints as text that reads the same.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(k.String())
		if err != nil || again.String() != k.String() {
			t.Errorf("%v\n%s", err, k)
		}
	})
}
