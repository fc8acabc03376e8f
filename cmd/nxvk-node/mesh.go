package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nxvk/gen/exec/mesh/schedule"
	"nxvk/node/bench/mesh"
	"nxvk/vulkan"
)

// benchMesh measures several devices.
func benchMesh(ctx context.Context, args []string) error {
	f := flags("bench mesh")
	var c mesh.Config
	f.list("device", &c.Devices, "`device` by index, name or UUID, or host; may be repeated, and may name one more than once (default: all of the best kind)")
	f.IntVar(&c.Least, "least", 16<<10, "`bytes` of the smallest value that is copied and reduced")
	f.IntVar(&c.Most, "most", 256<<20, "`bytes` of the largest one")
	f.IntVar(&c.Hidden, "hidden", 4096, "`size` of the layers of the network")
	f.IntVar(&c.Batch, "batch", 16384, "`rows` of a step of training, of all devices together")
	f.DurationVar(&c.Time, "time", time.Second, "`duration` for which each row is measured at least")
	f.BoolVar(&c.Bus, "bus", false, "measure the buses of the devices alone: by copy queues and by kernels, with imported and allocated memory, by the size of chunks and their number")
	queues := f.String("copy-queues", "", "`families` and numbers of the queues for copies, such as 1.0,4.0, in place of those of the device")
	rows := f.String("rows", "", "measure only what a regular `expression` finds: copy, all_reduce, in a row, step; of a bus such as 'both copy imported 8388608 ×4 on 2'")
	way := f.String("schedule", "", "`way` of an all_reduce of two devices: divided, direct or swapped (default: that which a node takes)")
	chunk := f.Int("chunk", 0, "`bytes` of an operand that a step of an all_reduce moves (default: by its size)")
	f.BoolVar(&c.JSON, "json", false, "print a JSON line for each row")
	if err := f.parse(args); err != nil {
		return err
	}
	if err := f.noArgs(); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*queues, ",") {
		var q [2]int
		if text == "" {
			continue
		}
		if n, err := fmt.Sscanf(text, "%d.%d", &q[0], &q[1]); n != 2 || err != nil || q[0] < 0 || q[1] < 0 || q[1] > 7 {
			return fmt.Errorf("--copy-queues %s: a queue is FAMILY.NUMBER, such as 1.0", text)
		}
		c.CopyQueues = append(c.CopyQueues, q)
	}
	var err error
	if c.Rows, err = regexp.Compile(*rows); err != nil {
		return fmt.Errorf("--rows: %w", err)
	}
	if *way != "" || *chunk > 0 {
		i := slices.Index([]string{"divided", "direct", "swapped"}, *way)
		if i < 0 {
			return fmt.Errorf("--schedule %s: it is divided, direct or swapped", *way)
		}
		c.Schedule = &schedule.Options{Way: schedule.Way(i), Chunk: *chunk}
	}
	if len(c.Devices) == 0 {
		infos, err := vulkan.Devices()
		if err != nil {
			return err
		}
		for i, info := range infos {
			if info.Kind == infos[0].Kind {
				c.Devices = append(c.Devices, strconv.Itoa(i))
			}
		}
	}
	return mesh.Measure(ctx, os.Stdout, c)
}
