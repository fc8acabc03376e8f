package main

import (
	"context"
	"fmt"

	benchmark "nxvk/node/bench"
)

// bench measures, and prints a table.
func bench(ctx context.Context, args []string) error {
	f := flags("bench")
	device := f.String("device", "", "device by index, name or UUID; the best one where empty")
	elements := f.Int("elements", 1<<24, "elements of the arrays of bench ops")
	only := f.String("only", "", "measure the rows of bench ops whose names have this in them")
	no := f.String("no", "", "rules of fusion and passes to switch off in bench ops: those of run, but for all")
	sessions := f.Int("sessions", 10, "sessions that compute beside the one that bench share measures")
	seconds := f.Int("seconds", 10, "how long each row of bench share is measured")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 1 {
		return fmt.Errorf("%w: unexpected %q; flags come before wire, ops, cold, starts, beside, share or sampler", errUsage, f.Arg(1))
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
	case "ops":
		return benchmark.Ops(ctx, benchmark.OpsConfig{Device: *device, Elements: *elements, Only: *only, No: *no})
	case "share":
		return benchmark.Share(ctx, *device, *sessions, *seconds)
	case "sampler":
		return benchmark.Sampler(ctx, *device)
	}
	return fmt.Errorf("%w: bench measures wire, ops, cold, starts, beside, share or sampler: nxvk-node bench [FLAGS] wire|ops|cold|starts|beside|share|sampler", errUsage)
}
