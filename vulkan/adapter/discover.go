package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nxvk/vulkan/vk"
)

// Adapter is a physical device of an instance.
type Adapter struct {
	GPU  vk.PhysicalDevice
	Raw  vk.Info
	Info Info
}

var (
	// ErrNoVulkan means that the machine has no Vulkan loader.
	ErrNoVulkan = errors.New("no Vulkan on this machine")
	// ErrNoDevice means that no device matches the selection.
	ErrNoDevice = errors.New("no such Vulkan device")
)

// List lists the devices that can be opened, best first: discrete before
// integrated before virtual before CPU, and more memory before less. Without
// Vulkan the list is empty and the error is [ErrNoVulkan].
func List() ([]Info, error) {
	in, err := Instance(nil)
	if err != nil {
		return nil, err
	}
	defer Release(in)
	list, err := enumerate(in)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(list))
	for i, c := range list {
		infos[i] = c.Info
	}
	return infos, nil
}

// shared is the instance of all devices without validation. It lives as long as the process, and
// so does the library of the driver: NVIDIA's cannot be loaded again after it has been unloaded
// some twenty times.
var shared struct {
	mu sync.Mutex
	in vk.Instance
}

// Instance returns the shared instance or, where message is not nil, one with the validation layer,
// whose messages it gets.
func Instance(message vk.Message) (vk.Instance, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.in == 0 {
		in, err := createInstance(nil)
		if err != nil {
			return 0, err
		}
		shared.in = in
	}
	if message == nil {
		return shared.in, nil
	}
	return createInstance(message)
}

// Release destroys an instance, unless it is the shared one.
func Release(in vk.Instance) {
	if in != shared.in {
		vk.DestroyInstance(in)
	}
}

func createInstance(message vk.Message) (vk.Instance, error) {
	switch err := vk.Load(); {
	case errors.Is(err, vk.ErrNotBuilt):
		return 0, fmt.Errorf("%w: %w; build it without the tag novulkan, and on 64-bit ARM or x86 or with a C compiler "+
			"(Debian and Ubuntu: apt-get install gcc libc6-dev libvulkan-dev)", ErrNoVulkan, err)
	case err != nil:
		return 0, fmt.Errorf("%w: %w; install the Vulkan loader and a driver "+
			"(Debian and Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers; FreeBSD: pkg install vulkan-loader mesa-dri)",
			ErrNoVulkan, err)
	}
	in, r := vk.CreateInstance(message)
	switch {
	case r == vk.ErrorLayerNotPresent:
		return 0, fmt.Errorf("create instance: %w: validation needs VK_LAYER_KHRONOS_validation "+
			"(Debian and Ubuntu: vulkan-validationlayers)", r)
	case r == vk.ErrorIncompatibleDriver:
		return 0, fmt.Errorf("%w: the loader finds no driver (Debian and Ubuntu: mesa-vulkan-drivers): %w", ErrNoVulkan, r)
	case r != vk.Success:
		return 0, fmt.Errorf("create instance: %w", r)
	}
	return in, nil
}

// enumerate lists the usable adapters of an instance, best first.
func enumerate(in vk.Instance) ([]Adapter, error) {
	gpus, err := vk.EnumeratePhysicalDevices(in)
	if err != nil {
		return nil, fmt.Errorf("enumerate devices: %w", err)
	}
	var list []Adapter
	for _, g := range gpus {
		raw := vk.GetPhysicalDeviceInfo(in, g)
		if raw.API < vk.VersionMinimum || raw.Features&vk.Timeline == 0 || raw.Family == ^uint32(0) {
			continue
		}
		list = append(list, Adapter{g, raw, newInfo(&raw)})
	}
	slices.SortStableFunc(list, func(a, b Adapter) int {
		if a.Info.Kind != b.Info.Kind {
			return int(a.Info.Kind) - int(b.Info.Kind)
		}
		switch {
		case a.Info.Memory > b.Info.Memory:
			return -1
		case a.Info.Memory < b.Info.Memory:
			return 1
		}
		return 0
	})
	for i := range list {
		list[i].Info.Index = i
	}
	return list, nil
}

// Choose returns the adapter of an instance that sel names: "" for the best, an index or a UUID
// of [List], or a part of a name in any case.
func Choose(in vk.Instance, sel string) (*Adapter, error) {
	list, err := enumerate(in)
	if err != nil {
		return nil, err
	}
	return choose(list, sel)
}

// choose finds the adapter that sel names. A selection of digits is an index and nothing else: many
// names of devices contain digits.
func choose(list []Adapter, sel string) (*Adapter, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no device with Vulkan 1.2 and a compute queue", ErrNoDevice)
	}
	if sel == "" {
		return &list[0], nil
	}
	for i := range list {
		if strings.EqualFold(list[i].Info.UUID, sel) {
			return &list[i], nil
		}
	}
	digits := strings.Trim(sel, "0123456789") == ""
	if i, err := strconv.Atoi(sel); digits && err == nil && i < len(list) {
		return &list[i], nil
	}
	for i := range list {
		if !digits && strings.Contains(strings.ToLower(list[i].Info.Name), strings.ToLower(sel)) {
			return &list[i], nil
		}
	}
	var have []string
	for _, c := range list {
		have = append(have, fmt.Sprintf("%d %q (%s, %s)", c.Info.Index, c.Info.Name, c.Info.Kind, c.Info.UUID))
	}
	return nil, fmt.Errorf("%w: %q; there is %s", ErrNoDevice, sel, strings.Join(have, ", "))
}
