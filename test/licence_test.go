package test

import (
	"bytes"
	"os"
	"testing"
)

// TestLicence compares the licence of each package that is published by itself
// with that of the repository: a package has only files of its own folder.
func TestLicence(t *testing.T) {
	want, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nx_vulkan_go", "nx_vulkan"} {
		got, err := os.ReadFile("../elixir/" + name + "/LICENSE")
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("the licence of %s is not that of the repository", name)
		}
	}
}
