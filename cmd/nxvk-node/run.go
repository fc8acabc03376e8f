package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nxvk/gen/server"
	"nxvk/node"
	"nxvk/synth"
)

// run serves until it is told to stop.
func run(ctx context.Context, args []string) error {
	f := flags("run")
	cfg := node.Config{}
	f.StringVar(&cfg.Name, "name", "nxvk@127.0.0.1", "name of this node, NAME@HOST")
	f.StringVar(&cfg.Cookie, "cookie", "", "cookie of the cluster; better in a file, since other users see command lines")
	f.StringVar(&cfg.CookieFile, "cookie-file", "", "file with the cookie (default ~/.erlang.cookie, which is made where there is none)")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1", "address to listen on; 0.0.0.0 is every one")
	f.IntVar(&cfg.Port, "port", 0, "port to listen on; 0 picks one")
	f.StringVar(&cfg.Device, "device", "all", "all, host, or one device by index, name or UUID")
	f.StringVar(&cfg.Connect, "connect", "", "nodes to connect to, separated by commas")
	f.DurationVar(&cfg.NetTicktime, "net-ticktime", node.DefaultTicktime, "a peer is down after so long without a byte")
	f.StringVar(&cfg.TLS.Cert, "tls-cert", "", "PEM certificate; with it the node speaks inet_tls")
	f.StringVar(&cfg.TLS.Key, "tls-key", "", "PEM key of the certificate")
	f.DurationVar(&cfg.Deadline, "deadline", 0, "how long an instruction or a run may take before its results carry an error, as 30s; 0 is no limit")
	f.StringVar(&cfg.TLS.CA, "tls-ca", "", "PEM certificates that peers' must be signed by; without it every one is trusted")
	f.BoolVar(&cfg.TLS.Insecure, "tls-insecure", false, "trust every certificate also where others than this machine can connect")
	f.Int64Var(&cfg.SessionLimit, "session-limit", 0, "bytes a session may hold on a device; 0 is no limit")
	f.Uint64Var(&cfg.MemoryLimit, "memory-limit", 0, "bytes taken from each device at most, also where that is the host, and as many by what the host makes in a processor's stead; 0 is all that a device has, and 60 % of the host's memory")
	f.BoolVar(&cfg.KeepMemory, "keep-memory", false, "keep memory that nothing uses for reuse; else it goes back to the driver and the system after some seconds")
	f.IntVar(&cfg.HostLimit, "host-limit", 0, "elements up to which work stays on the host; 0 is the device's default")
	f.BoolVar(&cfg.NoWarmUp, "no-warm-up", false, "have the driver compile every kernel at once, also where the device is a processor; else the host carries a kernel out until compiling it pays")
	f.StringVar(&cfg.DisablePasses, "disable-passes", "", "compiler passes and fusion rules to disable, separated by commas: "+strings.Join(synth.RuleNames(), ", ")+"; all runs programs one instruction at a time")
	f.rename("no", "disable-passes")
	f.BoolVar(&cfg.AllowShaders, "allow-shaders", false, "let clients bring SPIR-V of their own; a driver may not survive it")
	f.StringVar(&cfg.CacheDir, "cache-dir", "", "folder of compiled pipelines, kernels and which programs were compiled (default in the user's cache folder; - keeps none)")
	f.BoolVar(&cfg.Validation, "validation", false, "load the Vulkan validation layer")
	f.StringVar(&cfg.Metrics, "metrics", "", "serve Prometheus metrics on this address, as 127.0.0.1:9464")
	level := f.String("log-level", "info", "trace, debug, info, warn, error or disabled")
	eof := f.Bool("exit-on-eof", false, "stop when standard input ends; a launcher that dies takes the node with it")
	if err := f.parse(args); err != nil {
		return err
	}
	if err := f.noArgs(); err != nil {
		return err
	}
	log, err := logger(*level)
	if err != nil {
		return err
	}
	cfg.Log = log
	for _, text := range f.warnings {
		log.Warn().Msg(text)
	}
	if *eof {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	cfg.Ready = func(name string, port int) { fmt.Printf("nxvk ready %s %d\n", name, port) }
	return node.Run(ctx, cfg)
}

// logger writes for people on a terminal, and JSON elsewhere, to standard
// error.
func logger(level string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Logger{}, fmt.Errorf("%w: --log-level %q is not trace, debug, info, warn, error or disabled", errUsage, level)
	}
	var out io.Writer = os.Stderr
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		out = console(os.Stderr)
	}
	return zerolog.New(out).Level(l).With().Timestamp().Logger(), nil
}

// console writes for people.
func console(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{Out: out, TimeFormat: time.DateTime}
}

func printVersion(_ context.Context, args []string) error {
	f := flags("version")
	if err := f.parse(args); err != nil {
		return err
	}
	fmt.Println("nxvk-node", server.Version())
	return f.noArgs()
}
