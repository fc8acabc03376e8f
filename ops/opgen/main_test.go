package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFresh fails where a generated file is not what the table makes of it.
func TestFresh(t *testing.T) {
	for name, text := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Errorf("%v; run go run ./ops/opgen", err)
		} else if string(got) != text {
			t.Errorf("%s is stale; run go run ./ops/opgen", name)
		}
	}
}
