package devfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machineOf makes a system with these files. Those whose text is "closed" cannot be opened.
func machineOf(t *testing.T, files map[string]string) *machine {
	t.Helper()
	root := t.TempDir()
	closed := map[string]bool{}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o666)
		if text == "closed by its mode" {
			mode = 0o660
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		closed[path] = strings.HasPrefix(text, "closed")
	}
	return &machine{
		root: root,
		open: func(path string) error {
			if closed[path] {
				return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
			}
			return nil
		},
		group: func(os.FileInfo) string { return "gpus" },
	}
}

// Each obstacle is told with what to do, and no other.
func TestFind(t *testing.T) {
	t.Setenv("container", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const pci = "sys/bus/pci/devices/0000:01:00.0/"
	gpu := map[string]string{pci + "class": "0x030200\n", pci + "vendor": "0x10de\n"}
	for _, x := range []struct {
		name  string
		files map[string]string
		says  []string // of the obstacles, in order
	}{
		{name: "no GPU"},
		{name: "a GPU of a virtual machine", files: map[string]string{pci + "class": "0x030000", pci + "vendor": "0x1234"}},
		{name: "a network card", files: map[string]string{pci + "class": "0x020000", pci + "vendor": "0x8086"}},
		{name: "a GPU with its file", files: map[string]string{"dev/dri/renderD128": ""}},
		{name: "no driver", says: []string{"0000:01:00.0 has no device file here: install the kernel driver"}},
		{name: "a container without devices", files: map[string]string{"run/.containerenv": ""},
			says: []string{"no device file here: give this container its devices: --device /dev/dri"}},
		{name: "a rule of the system", files: map[string]string{"dev/dri/renderD128": "closed"},
			says: []string{"the system forbids /dev/dri/renderD128, although its mode does not: SELinux: setsebool"}},
		{name: "two files, one closed", files: map[string]string{"dev/nvidiactl": "closed", "dev/nvidia0": ""},
			says: []string{"the system forbids /dev/nvidiactl"}},
		{name: "no right", files: map[string]string{"dev/dri/renderD128": "closed by its mode"},
			says: []string{"this process has no right to /dev/dri/renderD128 (mode 0660, group gpus): usermod -aG gpus USER"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := map[string]string{}
			if len(x.says) > 0 || strings.HasPrefix(x.name, "a GPU with") {
				for k, v := range gpu {
					files[k] = v
				}
			}
			for k, v := range x.files {
				files[k] = v
			}
			m := machineOf(t, files)
			got := m.find()
			if len(got) != len(x.says) {
				t.Fatalf("%v; want %d", got, len(x.says))
			}
			for i, o := range got {
				if !strings.Contains(o.String(), x.says[i]) {
					t.Errorf("%v; must say %q", o, x.says[i])
				}
			}
		})
	}
}

// The machine itself can be looked at.
func TestFindHere(t *testing.T) {
	for _, o := range Find() {
		if o.What == "" || o.Advice == "" {
			t.Errorf("%q: %q", o.What, o.Advice)
		}
	}
}
