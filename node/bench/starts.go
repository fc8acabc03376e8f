package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/node/archive"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// startLives is how many processes Starts starts, one after the other, and startRuns how
// often each runs a program.
const (
	startLives = 4
	startRuns  = 40
)

// starting are the programs of Starts.
var starting = []struct {
	name string
	make func() *ops.Region
}{
	{"a softmax", func() *ops.Region { return softmax(f32(64, 96)) }},
	{"200 instructions", func() *ops.Region { return stack(200) }},
	{"2,000 instructions", func() *ops.Region { return stack(2000) }},
}

// Starts measures how long programs take to give their first result when a node starts
// for the first time, and when it starts again with what earlier lives and the driver
// have kept on disk. args are those that have this program call StartsRound.
func Starts(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, s := range starting {
		dir, err := os.MkdirTemp("", "nxvk-starts-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for life := range startLives {
			c := exec.CommandContext(ctx, self, args...)
			c.Env = append(os.Environ(), "NXVK_BENCH_STARTS="+dir, "NXVK_BENCH_PROGRAM="+s.name,
				"MESA_SHADER_CACHE_DIR="+filepath.Join(dir, "mesa"), "__GL_SHADER_DISK_CACHE_PATH="+filepath.Join(dir, "nvidia"))
			c.Stderr = os.Stderr
			out, err := c.Output()
			if err != nil {
				return err
			}
			fmt.Printf("start %d, %s\n", life+1, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// StartsRound is one process of Starts.
func StartsRound(device string) error {
	dir := os.Getenv("NXVK_BENCH_STARTS")
	kept, err := archive.Open(filepath.Join(dir, "kernels"), archive.Limit)
	if err != nil {
		return err
	}
	h, err := openHarness(device, vulkan.Options{CacheDir: dir}, func(d *vulkan.Device, t synth.Target, limit int) *exectest.Driver {
		t.Archive = kept
		return exectest.NewPrompt(d, t, limit)
	})
	if err != nil {
		return err
	}
	defer h.close()
	for _, s := range starting {
		if s.name == os.Getenv("NXVK_BENCH_PROGRAM") {
			return h.starts(s.name, s.make())
		}
	}
	return fmt.Errorf("no program is called %q", os.Getenv("NXVK_BENCH_PROGRAM"))
}

// starts runs a program as a node does that has just started.
func (h *harness) starts(name string, p *ops.Region) error {
	outs, operands, err := h.smallOperands(p)
	if err != nil {
		return err
	}
	var times []time.Duration
	began := time.Now()
	for range startRuns {
		start := time.Now()
		h.Define("p", p)
		ids := h.Run("p", outs, operands...)
		if _, err := h.Read(ids[0]); err != nil {
			return err
		}
		times = append(times, time.Since(start))
		h.Free(ids...)
	}
	all := time.Since(began)
	fmt.Printf("%s, %s: first result after %v, second %v, all %d after %v, their median %v\n",
		name, kindOf(h.Device), round(times[0]), round(times[1]), startRuns, round(all), round(median(times)))
	return h.Built()
}
