package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	benchmark "nxvk/node/bench"
	"nxvk/vulkan"
)

// measurements are what bench can do, for its help and its errors.
const measurements = `
  wire      messages between BEAMs, and between a BEAM and this node; needs Erlang
  sweep     drawn operations and programs of any size; bench sweep --help lists its flags
  ops       time, bandwidth and throughput of operations and programs
  cold      a program in a process that has compiled nothing
  starts    the first result of a program after each of several starts of the node
  beside    reads of one session while another one's kernels are compiled
  crowd     reads of one session beside others that multiply matrices without pause
  devices   copies of values from one device to another, one way and both ways
  mesh      copies, all_reduce and a step of training on several devices; bench mesh --help lists its flags
  nodes     an upload to a node, an import from another one, and an all_reduce among several nodes of this machine
  share     reads of one session beside others as clients on a BEAM see them, and the shares of the sessions; needs Erlang
  sampler   leapfrog steps and draws of the No-U-Turn sampler`

// benchOptions are the flags of bench.
type benchOptions struct {
	ops               benchmark.OpsConfig // its device and format are those of all
	crowd             benchmark.CrowdConfig
	devices           benchmark.DevicesConfig
	nodes             benchmark.NodesConfig
	to                string // the other device of devices
	sessions, seconds int
}

// bench measures, and prints a table.
func bench(ctx context.Context, args []string) error {
	f := flags("bench")
	f.words = " MEASUREMENT\n" + measurements
	var o benchOptions
	format := f.String("format", string(benchmark.Table), "output `format`: table, or benchstat, which prints what benchstat compares (not for crowd and share)")
	f.StringVar(&o.ops.Device, "device", "", "`device` by index, name or UUID (default: the best one)")
	f.IntVar(&o.ops.Elements, "elements", 1<<24, "ops: `elements` of each large array")
	f.StringVar(&o.ops.Only, "only", "", "ops: measure only rows whose names contain this `text`")
	f.StringVar(&o.ops.DisablePasses, "disable-passes", "", "ops: compiler `passes` and fusion rules to disable, as for run, except all")
	f.rename("no", "disable-passes")
	f.IntVar(&o.sessions, "sessions", 10, "share: `number` of sessions that compute without pause")
	f.IntVar(&o.seconds, "seconds", 10, "share: `seconds` for which each row is measured")
	f.IntVar(&o.crowd.Hogs, "hogs", 4, "crowd: `number` of sessions that compute without pause")
	f.IntVar(&o.crowd.Size, "size", 8192, "crowd: `rows` and columns of the matrices that they multiply")
	f.IntVar(&o.crowd.Queues, "queues", 0, "crowd: `number` of queues of the device to use (default: 1)")
	f.DurationVar(&o.crowd.Piece, "piece", 0, "crowd: `duration` of the pieces that work is cut into (default: chosen by the device)")
	f.DurationVar(&o.crowd.Time, "time", 5*time.Second, "crowd: `duration` of each part of the measurement")
	f.StringVar(&o.to, "to", "", "devices: the other `device` (default: the second one of the machine, or the first one again)")
	f.IntVar(&o.devices.Bytes, "bytes", 1<<30, "devices: `bytes` of the largest value")
	f.IntVar(&o.nodes.Count, "nodes", 2, "nodes: `number` of nodes, two or more")
	f.IntVar(&o.nodes.Bytes, "value", 64<<20, "nodes: `bytes` of each value")
	f.IntVar(&o.nodes.Rounds, "rounds", 10, "nodes: `number` of times that each is measured; the least time counts")
	if err := f.parse(args); err != nil {
		return err
	}
	for _, text := range f.warnings {
		fmt.Fprintln(os.Stderr, "nxvk-node:", text)
	}
	if f.Arg(0) == "sweep" {
		return sweepCases(ctx, o.ops.Device, f.Args()[1:])
	}
	if f.Arg(0) == "mesh" {
		return benchMesh(ctx, f.Args()[1:])
	}
	if f.NArg() > 1 {
		return fmt.Errorf("%w: unexpected argument %q: write the flags before the measurement", errUsage, f.Arg(1))
	}
	var err error
	if o.ops.Format, err = benchmark.ParseFormat(*format); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.nodes.Count < 2 || o.nodes.Bytes < 4 {
		return fmt.Errorf("%w: --nodes is 2 or more, --value 4 or more", errUsage)
	}
	o.crowd.Device = o.ops.Device
	return o.measure(ctx, f.Arg(0))
}

// measure carries out a measurement. A name that ends with -round is one process of
// another measurement.
func (o *benchOptions) measure(ctx context.Context, name string) error {
	device, format := o.ops.Device, o.ops.Format
	round := []string{"bench", "--device", device, "--format", string(format), name + "-round"}
	switch name {
	case "wire":
		return benchmark.Wire(ctx, format)
	case "ops":
		return benchmark.Ops(ctx, o.ops)
	case "cold":
		return benchmark.Cold(ctx, round)
	case "cold-round":
		return benchmark.ColdRound(device, format)
	case "starts":
		return benchmark.Starts(ctx, round, format)
	case "starts-round":
		return benchmark.StartsRound(device, format)
	case "beside":
		return benchmark.Beside(ctx, round)
	case "beside-round":
		return benchmark.BesideRound(device, format)
	case "nodes":
		o.nodes.Device, o.nodes.Format = device, format
		return benchmark.Nodes(ctx, o.nodes)
	case "sampler":
		return benchmark.Sampler(ctx, device, format)
	case "devices":
		return o.measureDevices(ctx)
	}
	switch {
	case name != "crowd" && name != "share":
		return fmt.Errorf("%w: no measurement %q: name one of these after the flags:\n%s", errUsage, name, measurements)
	case format != benchmark.Table:
		return fmt.Errorf("%w: bench %s prints a report of its own: leave --format out", errUsage, name)
	case name == "share":
		return benchmark.Share(ctx, device, o.sessions, o.seconds)
	}
	return benchmark.Crowd(ctx, o.crowd)
}

// measureDevices measures copies between two devices. The same device is opened twice.
func (o *benchOptions) measureDevices(ctx context.Context) error {
	c := o.devices
	c.Format, c.Time = o.ops.Format, time.Second
	c.Devices = [2]string{cmp.Or(o.ops.Device, "0"), o.to}
	if o.to == "" {
		infos, err := vulkan.Devices()
		if err != nil {
			return err
		}
		if c.Devices[1] = c.Devices[0]; o.ops.Device == "" && len(infos) > 1 && infos[1].Kind == infos[0].Kind {
			c.Devices[1] = "1"
		}
	}
	return benchmark.Devices(ctx, c)
}
