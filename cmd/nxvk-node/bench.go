package main

import (
	"context"
	"fmt"
	"os"
	"time"

	benchmark "nxvk/node/bench"
)

// bench measures, and prints a table.
func bench(ctx context.Context, args []string) error {
	f := flags("bench")
	device := f.String("device", "", "device by index, name or UUID; the best one where empty")
	elements := f.Int("elements", 1<<24, "elements of the arrays of bench ops")
	only := f.String("only", "", "measure the rows of bench ops whose names have this in them")
	disable := f.String("disable-passes", "", "bench ops: compiler passes and fusion rules to disable, as for run, except all")
	f.rename("no", "disable-passes")
	sessions := f.Int("sessions", 10, "sessions that compute beside the one that bench share measures")
	seconds := f.Int("seconds", 10, "how long each row of bench share is measured")
	var crowd benchmark.CrowdConfig
	f.IntVar(&crowd.Hogs, "hogs", 4, "sessions of bench crowd that compute without pause")
	f.IntVar(&crowd.Size, "size", 8192, "size of the matrices that these multiply")
	f.IntVar(&crowd.Queues, "queues", 0, "queues of the device that bench crowd uses; 0 for one")
	f.DurationVar(&crowd.Piece, "piece", 0, "how long a piece of work of bench crowd takes; 0 for what fits the device")
	f.DurationVar(&crowd.Time, "time", 5*time.Second, "how long each part of bench crowd takes")
	if err := f.parse(args); err != nil {
		return err
	}
	for _, text := range f.warnings {
		fmt.Fprintln(os.Stderr, "nxvk-node:", text)
	}
	if f.NArg() > 1 {
		return fmt.Errorf("%w: unexpected %q; flags come before wire, ops, cold, starts, beside, crowd, share or sampler", errUsage, f.Arg(1))
	}
	switch f.Arg(0) {
	case "wire":
		return benchmark.Wire(ctx)
	case "cold":
		return benchmark.Cold(ctx, []string{"bench", "--device", *device, "cold-round"})
	case "cold-round":
		return benchmark.ColdRound(*device)
	case "starts":
		return benchmark.Starts(ctx, []string{"bench", "--device", *device, "starts-round"})
	case "starts-round":
		return benchmark.StartsRound(*device)
	case "beside":
		return benchmark.Beside(ctx, []string{"bench", "--device", *device, "beside-round"})
	case "beside-round":
		return benchmark.BesideRound(*device)
	case "crowd":
		crowd.Device = *device
		return benchmark.Crowd(ctx, crowd)
	case "ops":
		return benchmark.Ops(ctx, benchmark.OpsConfig{Device: *device, Elements: *elements, Only: *only, DisablePasses: *disable})
	case "share":
		return benchmark.Share(ctx, *device, *sessions, *seconds)
	case "sampler":
		return benchmark.Sampler(ctx, *device)
	}
	return fmt.Errorf("%w: bench measures wire, ops, cold, starts, beside, crowd, share or sampler: nxvk-node bench [FLAGS] wire|ops|cold|starts|beside|crowd|share|sampler", errUsage)
}
