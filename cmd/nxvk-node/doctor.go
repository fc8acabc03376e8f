package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/node/epmd"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
	"nxvk/vulkan/devfile"
)

// finding is one line of the report of doctor.
type finding struct {
	ok     bool
	what   string
	advice string // what to do if it is not ok
}

// doctor checks the machine and says what to do. It fails if something would make the node
// slower than it could be.
func doctor(ctx context.Context, args []string) error {
	f := flags("doctor")
	c := kernelCheck{give: 20 * time.Second, out: os.Stdout}
	kernels := f.Bool("kernels", false, "compile every kernel for products and convolutions, and list the slowest to compile")
	f.StringVar(&c.device, "device", "", "with --kernels: `device` by index, name or UUID (default: the best one)")
	f.StringVar(&c.family, "family", "", "with --kernels: only families whose names contain this `text`")
	f.DurationVar(&c.limit, "limit", 500*time.Millisecond, "with --kernels: maximum `duration` for one kernel")
	f.StringVar(&c.cases, "cases", "", "with --kernels: `file` with cases of bench sweep, or programs; compiles what their first results need instead of the families")
	f.IntVar(&c.show, "show", slowest, "with --kernels: `number` of the slowest kernels to list")
	f.StringVar(&c.alone, "alone", "", "with --kernels: compile only the kernels of these `numbers`, one at a time")
	f.IntVar(&c.jobs, "jobs", defaultJobs(), "with --kernels: `number` of kernels compiled at a time")
	if err := f.parse(args); err != nil {
		return err
	}
	if err := f.noArgs(); err != nil {
		return err
	}
	if c.jobs < 1 {
		return fmt.Errorf("%w: --jobs is %d: give at least 1", errUsage, c.jobs)
	}
	if *kernels {
		return c.run(ctx)
	}
	bad := 0
	for _, examine := range []func(context.Context) []finding{examineVulkan, examineFiles, examineBEAM, examineNetwork} {
		for _, x := range examine(ctx) {
			mark := "ok  "
			if !x.ok {
				mark = "FIX "
				bad++
			}
			fmt.Println(mark, x.what)
			if !x.ok {
				fmt.Println("     ", x.advice)
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d problems, above in the lines that begin with FIX; each says what to do", bad)
	}
	return nil
}

// install returns the command that installs a package on this system.
func install(debian, freebsd, brew string) string {
	switch runtime.GOOS {
	case "freebsd":
		return "pkg install " + freebsd
	case "darwin":
		return "brew install " + brew
	case "windows":
		return "install the driver of the GPU's vendor; it brings Vulkan"
	}
	return "apt-get install " + debian + " (or your distribution's package of it)"
}

// binding says how the node calls Vulkan, after "calls it".
func binding() string {
	if vulkan.Binding == "cgo" {
		return "through C (cgo)"
	}
	return "without C (" + vulkan.Binding + ")"
}

func examineVulkan(context.Context) []finding {
	infos, err := vulkan.Devices()
	switch {
	case errors.Is(err, vulkan.ErrNotBuilt):
		return []finding{{false, "Vulkan: this nxvk-node was built without it",
			"build it without the tag novulkan, and on 64-bit ARM or x86 or with a C compiler: " +
				install("gcc libc6-dev libvulkan-dev", "vulkan-headers", "vulkan-headers") + "; until then the node computes on the host"}}
	case errors.Is(err, vulkan.ErrNoVulkan):
		return []finding{{false, "Vulkan: " + err.Error(),
			install("libvulkan1 mesa-vulkan-drivers", "vulkan-loader mesa-dri", "vulkan-loader molten-vk") + "; until then the node computes on the host"}}
	case err != nil:
		return []finding{{false, "Vulkan: " + err.Error(), "check the installation of the driver with vulkaninfo"}}
	case len(infos) == 0:
		return []finding{{false, "Vulkan: the loader is installed, but no driver",
			install("mesa-vulkan-drivers", "mesa-dri", "molten-vk") + ", or the driver of the GPU's vendor"}}
	}
	out := []finding{{ok: true, what: "Vulkan: the loader is installed; this nxvk-node calls it " + binding()}}
	for _, i := range infos {
		out = append(out, examineDevice(i)...)
	}
	if infos[0].Kind == vulkan.CPU {
		out = append(out, finding{false, "only a software device: its results are right, but it is no faster than the processor",
			"install the Vulkan driver of this machine's GPU, if it has one"})
	}
	return out
}

// examineFiles lists GPUs that this process cannot reach.
func examineFiles(context.Context) []finding {
	var out []finding
	for _, o := range devfile.Find() {
		out = append(out, finding{what: o.What, advice: o.Advice})
	}
	return out
}

// examineDevice lists what the host computes because the device cannot.
func examineDevice(i vulkan.Info) []finding {
	out := []finding{{ok: true, what: fmt.Sprintf("device %d: %s (%v, Vulkan %v, %s)", i.Index, i.Name, i.Kind, i.APIVersion, i.Driver)}}
	for _, x := range hostWork(target.Exceptions(&i)) {
		out = append(out, finding{ok: true, what: fmt.Sprintf("device %d: the host computes %s", i.Index, x)})
	}
	return out
}

// hostWork prints exceptions: operations, types and the reason.
func hostWork(all []target.Exception) []string {
	var keys []string
	names := map[string][]string{}
	for _, x := range all {
		if x.Place != synth.OnHost {
			continue
		}
		k := ops.TypeNames(x.Types) + " of %s: " + x.Reason
		if names[k] == nil {
			keys = append(keys, k)
		}
		names[k] = append(names[k], x.Op.String())
	}
	for i, k := range keys {
		list := strings.Join(names[k], ", ")
		if n := len(names[k]); n > 12 {
			list = fmt.Sprintf("%d operations", n)
		}
		keys[i] = strings.Replace(k, "%s", list, 1)
	}
	return keys
}

func examineBEAM(ctx context.Context) []finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "erl", "-noshell", "-eval",
		`io:put_chars(erlang:system_info(otp_release)), halt().`).Output()
	if err != nil {
		return []finding{{false, "Erlang: not found", install("erlang-nox elixir", "erlang elixir", "elixir") +
			"; not needed if the BEAM runs on another machine"}}
	}
	release := 0
	fmt.Sscan(string(out), &release)
	if release < 25 {
		return []finding{{false, fmt.Sprintf("Erlang/OTP %d", release), "install OTP 25 or later"}}
	}
	return []finding{{ok: true, what: fmt.Sprintf("Erlang/OTP %d", release)}}
}

func examineNetwork(ctx context.Context) []finding {
	var out []finding
	addr := epmd.DefaultAddress()
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		c.Close()
		out = append(out, finding{ok: true, what: "epmd answers on " + addr})
	} else {
		out = append(out, finding{ok: true, what: "no epmd on " + addr + "; the node will serve it"})
	}
	home, _ := os.UserHomeDir()
	file := filepath.Join(home, ".erlang.cookie")
	if _, err := os.Stat(file); err != nil {
		out = append(out, finding{ok: true, what: "no cookie in " + file + "; nxvk-node run creates one"})
	} else {
		out = append(out, finding{ok: true, what: "cookie in " + file})
	}
	return out
}
