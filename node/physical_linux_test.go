package node

import (
	"os"
	"path/filepath"
	"testing"
)

// The lowest limit counts, of the group or of one around it, whichever version
// of the control groups a system has.
func TestGroupLimit(t *testing.T) {
	none := ^uint64(0)
	for _, x := range []struct {
		name, groups string
		files        map[string]string
		want         uint64
	}{
		{"none", "0::/\n", nil, none},
		{"version 2", "0::/a/b\n", map[string]string{"a/b/memory.max": "2000\n"}, 2000},
		{"around it", "0::/a/b\n", map[string]string{"a/memory.max": "1000\n", "a/b/memory.max": "max\n"}, 1000},
		{"version 1", "5:cpu,memory:/a\n2:cpuset:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "3000\n"}, 3000},
		{"of another kind", "2:cpuset:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "3000\n"}, none},
		{"mounted as the root", "0::/../x\n", map[string]string{"memory.max": "7\n"}, 7},
		{"nonsense", "0\n::\n", map[string]string{"memory.max": "lots"}, none},
	} {
		root := t.TempDir()
		for file, text := range x.files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := groupLimit(root, x.groups); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
}
