package main

import (
	"context"
	"fmt"
	"os"

	"nxvk/node/bench/sweep"
)

// sweepCases measures drawn cases, or compares two measurements.
func sweepCases(ctx context.Context, device string, args []string) error {
	f := flags("bench sweep")
	f.words = " [--compare FILE FILE]"
	var o sweep.Options
	cfg := sweep.Config{Device: device}
	f.StringVar(&cfg.Device, "device", device, "`device` by index, name or UUID, or host (default: the best one)")
	f.StringVar(&cfg.Against, "against", "", "another `device` that measures each case, too; the table compares the two")
	f.BoolVar(&cfg.Serial, "serial", false, "run kernels one after the other, as a chain of operations does; else repetitions of a case overlap where a device can")
	f.Uint64Var(&o.Seed, "seed", 1, "`number` from which the cases are drawn")
	f.IntVar(&o.Count, "count", 300, "`number` of cases")
	f.StringVar(&o.Family, "family", "", "`families` to draw, separated by commas (default: all)")
	f.IntVar(&o.MaxBytes, "max-bytes", sweep.MaxBytes, "`bytes` of the largest operand")
	f.DurationVar(&cfg.Budget, "budget", 0, "`duration` after which no case begins")
	list := f.Bool("list", false, "print the cases as JSON lines and measure nothing")
	cases := f.String("cases", "", "`file` with the cases to measure, as --list prints them, or with programs as text; none are drawn")
	results := f.String("results", "", "`file` for the results, as JSON lines")
	compare := f.Bool("compare", false, "compare two files of results: ours and another's, as that of test/bench/sweep_torch.py")
	if err := f.parse(args); err != nil {
		return err
	}
	if *compare {
		if f.NArg() != 2 {
			return fmt.Errorf("%w: --compare takes two files of results", errUsage)
		}
		return sweep.Compare(os.Stdout, f.Arg(0), f.Arg(1))
	}
	if err := f.noArgs(); err != nil {
		return err
	}
	var err error
	if cfg.Cases, err = sweepList(*cases, o); err != nil {
		return err
	}
	if *list {
		return sweep.Write(os.Stdout, cfg.Cases)
	}
	if *results != "" {
		file, err := os.Create(*results)
		if err != nil {
			return err
		}
		defer file.Close()
		cfg.Results = file
	}
	return sweep.Run(ctx, os.Stdout, cfg)
}

// sweepList reads the cases of a file, or draws them.
func sweepList(name string, o sweep.Options) ([]sweep.Case, error) {
	if name == "" {
		list, err := sweep.Draw(o)
		if err != nil {
			err = fmt.Errorf("%w: %w", errUsage, err)
		}
		return list, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := sweep.Read(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return list, err
}
