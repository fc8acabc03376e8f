package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Both formats hold the files of a bundle, and are the same twice.
func TestArchives(t *testing.T) {
	for name, x := range map[string]target{"nxvk-node_1.2.3_linux_arm64.tar.gz": {os: "linux", arch: "arm64"}, "nxvk-node_1.2.3_windows_amd64.zip": {os: "windows", arch: "amd64"}} {
		b := bundle{target: x, version: "1.2.3", epoch: time.Unix(1700000000, 0).UTC(), files: []file{
			{x.binary(), 0o755, bytes.Repeat([]byte("program "), 1000)}, {"licenses/a/LICENSE", 0o644, []byte("terms")},
		}}
		if b.archive() != name {
			t.Errorf("the archive of %s is %s", x, b.archive())
		}
		var twice [2][]byte
		for i := range twice {
			path := filepath.Join(t.TempDir(), b.archive())
			if err := writeArchive(path, &b); err != nil {
				t.Fatal(err)
			}
			var err error
			if twice[i], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			got := unpackArchive(t, path)
			if len(got) != len(b.files) {
				t.Errorf("%s has %d files", name, len(got))
			}
			for _, f := range b.files {
				if !bytes.Equal(got[f.name], f.data) {
					t.Errorf("%s has another %s", name, f.name)
				}
			}
		}
		if !bytes.Equal(twice[0], twice[1]) {
			t.Errorf("%s is not the same twice", name)
		}
	}
}
