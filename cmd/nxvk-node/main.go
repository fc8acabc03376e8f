// Command nxvk-node joins a BEAM cluster as a hidden Erlang node and gives its processes the
// GPUs of this machine. Its subcommands are run, devices, doctor, bench and version;
// nxvk-node help lists them, and --help after one its flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"nxvk/node"
)

// Exit codes.
const (
	exitFailure  = 1 // something went wrong while running
	exitUsage    = 2 // the command line cannot be read or contradicts itself
	exitNoDevice = 3 // no device matches the selection
	exitNetwork  = 4 // the address or the name is taken, or epmd does not answer
)

// command is a subcommand of the program.
type command struct {
	name string
	doc  string
	run  func(ctx context.Context, args []string) error
}

var commands []command

func init() {
	commands = []command{
		{"run", "join the cluster and serve the devices", run},
		{"devices", "list the devices of this machine", devices},
		{"doctor", "check this machine and say what to install", doctor},
		{"bench", "measure the wire, the operations, a start or the sampler; bench --help lists the measurements", bench},
		{"version", "print the version", printVersion},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(exitUsage)
	}
	for _, c := range commands {
		if c.name == os.Args[1] {
			os.Exit(status(c.run(ctx, os.Args[2:])))
		}
	}
	if slices.Contains([]string{"-version", "--version"}, os.Args[1]) {
		os.Exit(status(printVersion(ctx, os.Args[2:])))
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, os.Args[1]) {
		usage(os.Stdout)
		return
	}
	fmt.Fprintf(os.Stderr, "nxvk-node: unknown command %q\n", os.Args[1])
	usage(os.Stderr)
	os.Exit(exitUsage)
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: nxvk-node COMMAND [FLAGS]")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.doc)
	}
	fmt.Fprintln(w, "COMMAND --help lists the flags. Each flag can be set in the environment, too: --log-level as NXVK_LOG_LEVEL.")
}

// status prints an error and gives the exit code for it.
func status(err error) int {
	if err == nil || errors.Is(err, errHelp) {
		return 0
	}
	fmt.Fprintln(os.Stderr, "nxvk-node:", err)
	switch {
	case errors.Is(err, errUsage), errors.Is(err, node.ErrConfig):
		return exitUsage
	case errors.Is(err, node.ErrNoDevice):
		return exitNoDevice
	case errors.Is(err, node.ErrNetwork):
		return exitNetwork
	}
	return exitFailure
}
