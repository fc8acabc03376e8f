package vulkan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nxvk/vulkan/vk"
)

// candidate is a device of an instance, not opened.
type candidate struct {
	gpu  vk.PhysicalDevice
	raw  vk.Info
	info Info
}

// Devices lists the devices that can be opened, best first: discrete before
// integrated before virtual before CPU, and more memory before less. Without
// Vulkan the list is empty and the error is [ErrNoVulkan].
func Devices() ([]Info, error) {
	in, err := newInstance(nil)
	if err != nil {
		return nil, err
	}
	defer destroyInstance(in)
	list, err := candidates(in)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(list))
	for i, c := range list {
		infos[i] = c.info
	}
	return infos, nil
}

// shared is the instance of all devices without validation. It lives as long
// as the process, and so does the driver's library: NVIDIA's cannot be loaded
// after some twenty unloadings.
var shared struct {
	mu sync.Mutex
	in vk.Instance
}

// newInstance returns the shared instance, or one with the validation layer,
// which tells message.
func newInstance(message vk.Message) (vk.Instance, error) {
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

func destroyInstance(in vk.Instance) {
	if in != shared.in {
		vk.DestroyInstance(in)
	}
}

func createInstance(message vk.Message) (vk.Instance, error) {
	switch err := vk.Load(); {
	case errors.Is(err, ErrNoCgo):
		return 0, fmt.Errorf("%w: %w; install a C compiler (Debian and Ubuntu: apt-get install gcc libc6-dev libvulkan-dev) "+
			"and build again with CGO_ENABLED=1", ErrNoVulkan, err)
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

// candidates lists the usable devices of an instance, best first.
func candidates(in vk.Instance) ([]candidate, error) {
	gpus, err := vk.EnumeratePhysicalDevices(in)
	if err != nil {
		return nil, fmt.Errorf("enumerate devices: %w", err)
	}
	var list []candidate
	for _, g := range gpus {
		raw := vk.GetPhysicalDeviceInfo(in, g)
		if raw.API < vk.VersionMinimum || raw.Features&vk.Timeline == 0 || raw.Family == ^uint32(0) {
			continue
		}
		list = append(list, candidate{g, raw, newInfo(&raw)})
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		if a.info.Kind != b.info.Kind {
			return int(a.info.Kind) - int(b.info.Kind)
		}
		switch {
		case a.info.Memory > b.info.Memory:
			return -1
		case a.info.Memory < b.info.Memory:
			return 1
		}
		return 0
	})
	for i := range list {
		list[i].info.Index = i
	}
	return list, nil
}

// choose finds the device that sel names: the best for "", else by UUID, by index,
// or by a part of its name in any case. Digits are an index and nothing else: names
// of drivers are full of them.
func choose(list []candidate, sel string) (*candidate, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no device with Vulkan 1.2 and a compute queue", ErrNoDevice)
	}
	if sel == "" {
		return &list[0], nil
	}
	for i := range list {
		if strings.EqualFold(list[i].info.UUID, sel) {
			return &list[i], nil
		}
	}
	digits := strings.Trim(sel, "0123456789") == ""
	if i, err := strconv.Atoi(sel); digits && err == nil && i < len(list) {
		return &list[i], nil
	}
	for i := range list {
		if !digits && strings.Contains(strings.ToLower(list[i].info.Name), strings.ToLower(sel)) {
			return &list[i], nil
		}
	}
	var have []string
	for _, c := range list {
		have = append(have, fmt.Sprintf("%d %q (%s, %s)", c.info.Index, c.info.Name, c.info.Kind, c.info.UUID))
	}
	return nil, fmt.Errorf("%w: %q; there is %s", ErrNoDevice, sel, strings.Join(have, ", "))
}
