package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

var (
	errUsage = errors.New("bad command line")
	errHelp  = errors.New("help was asked for")
)

// parse reads the flags of a command. A flag that is not on the command line
// may come from the environment: --net-ticktime as NXVK_NET_TICKTIME.
func parse(f *flag.FlagSet, args []string) error {
	var fromEnv error
	f.VisitAll(func(fl *flag.Flag) {
		name := "NXVK_" + strings.ToUpper(strings.ReplaceAll(fl.Name, "-", "_"))
		if v, ok := os.LookupEnv(name); ok && fromEnv == nil {
			if err := f.Set(fl.Name, v); err != nil {
				fromEnv = fmt.Errorf("%w: %s=%q: %v", errUsage, name, v, err)
			}
		}
	})
	if fromEnv != nil {
		return fromEnv
	}
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Printf("flags of %s:\n", f.Name())
		f.SetOutput(os.Stdout)
		f.PrintDefaults()
		return errHelp
	case err != nil:
		return fmt.Errorf("%w: %v; %s --help lists the flags", errUsage, err, f.Name())
	}
	return nil
}

// flags returns an empty set for a command.
func flags(name string) *flag.FlagSet {
	return flag.NewFlagSet("nxvk-node "+name, flag.ContinueOnError)
}

// noArgs refuses words after the flags.
func noArgs(f *flag.FlagSet) error {
	if f.NArg() > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, f.Arg(0))
	}
	return nil
}
