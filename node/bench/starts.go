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
	"nxvk/node/bench/program"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// startLives is the number of processes that Starts starts one after another, and startRuns the
// number of runs in each.
const (
	startLives = 4
	startRuns  = 40
)

// starting are the programs of Starts.
var starting = []struct {
	name string
	make func() *ops.Region
}{
	{"a softmax", func() *ops.Region { return program.Softmax(f32(64, 96)) }},
	{"200 instructions", func() *ops.Region { return program.Stack(200) }},
	{"2,000 instructions", func() *ops.Region { return program.Stack(2000) }},
}

// Starts measures the first results of programs at the first start of a node, and at later ones
// with the kernels that the node and the driver cached on disk. args make this program call
// StartsRound.
func Starts(ctx context.Context, args []string, f Format) error {
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
			c.Env = append(os.Environ(), "NXVK_BENCH_STARTS="+dir, "NXVK_BENCH_PROGRAM="+s.name, fmt.Sprint("NXVK_BENCH_START=", life+1),
				"MESA_SHADER_CACHE_DIR="+filepath.Join(dir, "mesa"), "__GL_SHADER_DISK_CACHE_PATH="+filepath.Join(dir, "nvidia"))
			c.Stderr = os.Stderr
			out, err := c.Output()
			if err != nil {
				return err
			}
			if f == Table {
				fmt.Printf("start %d, ", life+1)
			}
			fmt.Println(strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// StartsRound is one process of Starts.
func StartsRound(device string, f Format) error {
	dir := os.Getenv("NXVK_BENCH_STARTS")
	kept, err := archive.Open(filepath.Join(dir, "kernels"), archive.Limit)
	if err != nil {
		return err
	}
	h, err := openHarness(device, vulkan.Options{CacheDir: dir}, func(d *vulkan.Device, t synth.Target, limit int) *exectest.Driver {
		t.Archive = kept
		return exectest.NewWarmUp(d, t, limit)
	})
	if err != nil {
		return err
	}
	defer h.close()
	for _, s := range starting {
		if s.name == os.Getenv("NXVK_BENCH_PROGRAM") {
			return h.starts(s.name, s.make(), f)
		}
	}
	return fmt.Errorf("no program has the name %q of NXVK_BENCH_PROGRAM, which bench starts sets", os.Getenv("NXVK_BENCH_PROGRAM"))
}

// starts runs a program as a node does after its start.
func (h *harness) starts(name string, p *ops.Region, f Format) error {
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
	if f == Benchstat {
		header(os.Stdout, kindOf(h.Device))
		name = fmt.Sprintf("Starts/%s/start=%s", name, os.Getenv("NXVK_BENCH_START"))
		line(os.Stdout, name+"/first", 1, perOp(times[0]))
		line(os.Stdout, name+"/second", 1, perOp(times[1]))
		line(os.Stdout, name+"/all", startRuns, perOp(all/startRuns))
		return h.Built()
	}
	fmt.Printf("%s, %s: first result after %v, second %v, all %d after %v, their median %v\n",
		name, kindOf(h.Device), round(times[0]), round(times[1]), startRuns, round(all), round(median(times)))
	return h.Built()
}
