package devfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Obstacle is what keeps this process from a GPU, and what to do about it.
type Obstacle struct {
	What   string // such as "this process may not open /dev/dri/renderD128 (its group is render)"
	Advice string
}

func (o Obstacle) String() string { return o.What + ": " + o.Advice }

// Find looks for obstacles. It finds none on systems other than Linux.
func Find() []Obstacle {
	if runtime.GOOS != "linux" {
		return nil
	}
	m := machine{root: "/", superuser: os.Geteuid() == 0, open: openFile, group: groupName}
	return m.find()
}

// machine is a system as this process sees it.
type machine struct {
	root      string // of the file system
	superuser bool   // whom the modes of files do not bind
	open      func(path string) error
	group     func(os.FileInfo) string // name of the group of a file
}

func (m *machine) find() []Obstacle {
	gpus := m.gpus()
	files := m.files()
	if len(files) > 0 {
		return m.closed(files)
	}
	if len(gpus) == 0 {
		return nil
	}
	what := fmt.Sprintf("the GPU %s has no device file here", strings.Join(gpus, ", "))
	if m.container() {
		return []Obstacle{{what, "give this container its devices: --device /dev/dri for AMD and Intel; for NVIDIA --device nvidia.com/gpu=all " +
			"(docker: --gpus all) with NVIDIA_DRIVER_CAPABILITIES=graphics,utility"}}
	}
	return []Obstacle{{what, "install the kernel driver of the GPU and load it (modprobe nvidia, amdgpu, i915 or xe)"}}
}

// gpus lists the PCI addresses of display controllers with a driver for computing. A display of a
// virtual machine, such as that of QEMU or Hyper-V, is none.
func (m *machine) gpus() []string {
	var found []string
	dirs, _ := filepath.Glob(filepath.Join(m.root, "sys/bus/pci/devices/*"))
	for _, dir := range dirs {
		class, vendor := readWord(dir, "class"), readWord(dir, "vendor")
		if !strings.HasPrefix(class, "0x03") && !strings.HasPrefix(class, "0x1200") {
			continue
		}
		if slices.Contains([]string{"0x10de", "0x1002", "0x8086"}, vendor) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}

func readWord(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text))
}

// files lists the device files of GPUs.
func (m *machine) files() []string {
	var found []string
	for _, pattern := range []string{"dev/dri/renderD*", "dev/nvidiactl", "dev/nvidia[0-9]*"} {
		names, _ := filepath.Glob(filepath.Join(m.root, pattern))
		found = append(found, names...)
	}
	return found
}

// closed lists the files that this process cannot open.
func (m *machine) closed(files []string) []Obstacle {
	var found []Obstacle
	for _, path := range files {
		err := m.open(path)
		if !errors.Is(err, fs.ErrPermission) {
			continue // a device that is off or busy is the driver's to tell
		}
		info, statErr := os.Stat(path)
		if statErr != nil {
			continue
		}
		name := strings.TrimPrefix(path, strings.TrimSuffix(m.root, "/"))
		found = append(found, m.explain(name, info))
	}
	return found
}

// explain tells whether the rights of a file or a rule of the system keep it closed.
func (m *machine) explain(name string, info os.FileInfo) Obstacle {
	if mode := info.Mode().Perm(); mode&0o006 != 0o006 && !m.superuser {
		group := m.group(info)
		return Obstacle{
			fmt.Sprintf("this process has no right to %s (mode %04o, group %s)", name, mode, group),
			fmt.Sprintf("usermod -aG %s USER, then log in again; a service takes SupplementaryGroups=%s, a container --group-add", group, group),
		}
	}
	return Obstacle{
		fmt.Sprintf("the system forbids %s, although its mode does not", name),
		"SELinux: setsebool -P container_use_devices true; a container: --device " + name + "; systemd: DeviceAllow=" + name + " rw",
	}
}

// container reports whether this process is in a container.
func (m *machine) container() bool {
	for _, name := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := os.Stat(filepath.Join(m.root, name)); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

func openFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	}
	return err
}

func groupName(info os.FileInfo) string {
	id, ok := groupID(info)
	if !ok {
		return "render"
	}
	g, err := user.LookupGroupId(id)
	if err != nil {
		return id
	}
	return g.Name
}
