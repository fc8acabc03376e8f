package cluster

import (
	"strconv"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/vulkan"
)

// device is what a node of these tests computes with.
type device struct {
	name string
	args []string
}

// devices are the host and a Vulkan device, a software one where there is one,
// so that results do not depend on the machine. The validation layer watches;
// nothing stays on the host, so that small cases reach the device.
func devices(t *testing.T) []device {
	t.Helper()
	all := []device{{"host", []string{"--device", "host"}}}
	infos, err := vulkan.Devices()
	if err != nil || len(infos) == 0 {
		t.Logf("no Vulkan device: %v", err)
		return all
	}
	pick := infos[0]
	for _, i := range infos {
		if i.Kind == vulkan.CPU {
			pick = i
		}
	}
	return append(all, device{"vulkan", []string{"--device", strconv.Itoa(pick.Index), "--validation", "--host-limit", "1"}})
}

// TestMessages carries out what gen/README.md promises and every operation,
// from each release of Erlang, on each device.
func TestMessages(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.name, func(t *testing.T) {
			b := startRelease(t, r)
			for _, d := range devices(t) {
				t.Run(d.name, func(t *testing.T) {
					n := startNode(t, d.args...)
					b.connect(n)
					suite(t, b, n, "nxvk_suite")
					suite(t, b, n, "nxvk_ops")
					silent(t, n)
				})
			}
		})
	}
}

// suite runs every case of a module of cases.
func suite(t *testing.T, b *beam, n *node, module string) {
	t.Helper()
	for _, name := range atoms(b.call("{%s,names,[]}", module)) {
		t.Run(module+"/"+name, func(t *testing.T) {
			if _, err := b.ask(patience, "{%s,run,[%s,%s]}", module, name, n.device()); err != nil {
				t.Error(err)
			}
		})
	}
}

// atoms reads a printed list of atoms.
func atoms(list string) []string {
	return strings.Split(strings.Trim(list, "[]"), ",")
}

// silent fails the test where the node complained of a message that made it
// panic, or the validation layer of a command.
func silent(t *testing.T, n *node) {
	t.Helper()
	for line := range strings.Lines(n.log.text()) {
		if strings.Contains(line, `"level":"error"`) || strings.Contains(line, "severity") || strings.Contains(line, "VUID") {
			t.Errorf("the node logs: %s", line)
		}
	}
}

// TestOpsCovered holds that each operation that the node computes has a case.
func TestOpsCovered(t *testing.T) {
	covered := make(map[string]bool)
	for _, name := range atoms(startBEAM(t).call("{nxvk_ops,names,[]}")) {
		covered[name] = true
	}
	for op := range ops.Op(ops.Count) {
		info := op.Info()
		if info.Kind != ops.Control && info.Kind != ops.Composite && !covered[op.String()] {
			t.Errorf("nxvk_ops.erl has no case of %v", op)
		}
	}
}
