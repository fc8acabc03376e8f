package main

import (
	"context"
	"fmt"
	"os"
	"time"

	benchmark "nxvk/node/bench"
)

// measurements are what bench can do, for its help and its errors.
const measurements = `
  wire      messages between BEAMs, and between a BEAM and this node; needs Erlang
  ops       time, bandwidth and throughput of operations and programs
  cold      a program in a process that has compiled nothing
  starts    the first result of a program after each of several starts of the node
  beside    reads of one session while another one's kernels are compiled
  crowd     reads of one session beside others that multiply matrices without pause
  share     the same through the distribution, and the shares of the sessions; needs Erlang
  sampler   leapfrog steps and draws of the No-U-Turn sampler`

// bench measures, and prints a table.
func bench(ctx context.Context, args []string) error {
	f := flags("bench")
	f.words = " MEASUREMENT\n" + measurements
	device := f.String("device", "", "`device` by index, name or UUID (default: the best one)")
	elements := f.Int("elements", 1<<24, "ops: `elements` of each large array")
	only := f.String("only", "", "ops: measure only rows whose names contain this `text`")
	disable := f.String("disable-passes", "", "ops: compiler `passes` and fusion rules to disable, as for run, except all")
	f.rename("no", "disable-passes")
	sessions := f.Int("sessions", 10, "share: `number` of sessions that compute without pause")
	seconds := f.Int("seconds", 10, "share: `seconds` for which each row is measured")
	var crowd benchmark.CrowdConfig
	f.IntVar(&crowd.Hogs, "hogs", 4, "crowd: `number` of sessions that compute without pause")
	f.IntVar(&crowd.Size, "size", 8192, "crowd: `rows` and columns of the matrices that they multiply")
	f.IntVar(&crowd.Queues, "queues", 0, "crowd: `number` of queues of the device to use (default: 1)")
	f.DurationVar(&crowd.Piece, "piece", 0, "crowd: `duration` of the pieces that work is cut into (default: chosen by the device)")
	f.DurationVar(&crowd.Time, "time", 5*time.Second, "crowd: `duration` of each part of the measurement")
	if err := f.parse(args); err != nil {
		return err
	}
	for _, text := range f.warnings {
		fmt.Fprintln(os.Stderr, "nxvk-node:", text)
	}
	if f.NArg() > 1 {
		return fmt.Errorf("%w: unexpected argument %q: write the flags before the measurement", errUsage, f.Arg(1))
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
	return fmt.Errorf("%w: no measurement %q: name one of these after the flags:\n%s", errUsage, f.Arg(0), measurements)
}
