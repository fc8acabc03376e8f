package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"nxvk/gen/server"
	"nxvk/node"
	"nxvk/synth"
	"nxvk/vulkan"
)

// settings are the flags that configure a node.
func settings(f *flagSet, cfg *node.Config) {
	f.StringVar(&cfg.Name, "name", "nxvk@127.0.0.1", "`NAME@HOST` of this node")
	f.StringVar(&cfg.Cookie, "cookie", "", "`cookie` of the cluster; other users of the machine can read command lines, so prefer --cookie-file")
	f.StringVar(&cfg.CookieFile, "cookie-file", "", "`file` with the cookie (default ~/.erlang.cookie, which is created if it does not exist)")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1", "`address` to listen on; 0.0.0.0 listens on all interfaces")
	f.IntVar(&cfg.Port, "port", 0, "`port` to listen on (default: any free port)")
	f.list("device", &cfg.Devices, "`device` to serve: all, host, or one by index, name or UUID; repeat it for several, each with a server of its own. A device that is given twice is opened twice (default: all)")
	f.StringVar(&cfg.Connect, "connect", "", "`nodes` to connect to at the start, separated by commas")
	f.DurationVar(&cfg.NetTicktime, "net-ticktime", node.DefaultTicktime, "`duration` without a byte after which a peer counts as down")
	f.StringVar(&cfg.TLS.Cert, "tls-cert", "", "PEM `file` with the certificate; the node then speaks TLS, as inet_tls_dist does")
	f.StringVar(&cfg.TLS.Key, "tls-key", "", "PEM `file` with the key of the certificate")
	f.StringVar(&cfg.TLS.CA, "tls-ca", "", "PEM `file` with the authorities that sign peers' certificates; without it every certificate is trusted")
	f.BoolVar(&cfg.TLS.Insecure, "tls-insecure", false, "trust every certificate also when other machines can connect")
	f.DurationVar(&cfg.Deadline, "deadline", 0, "maximum `duration` of one instruction or run, such as 30s (default: no limit)")
	f.Int64Var(&cfg.SessionLimit, "session-limit", 0, "maximum `bytes` per session and device (default: no limit)")
	f.Uint64Var(&cfg.MemoryLimit, "memory-limit", 0, "maximum `bytes` per device (default: all GPU memory, or 60 % of RAM for the host device)")
	f.BoolVar(&cfg.KeepMemory, "keep-memory", false, "keep unused memory for reuse instead of returning it after some seconds")
	f.IntVar(&cfg.HostLimit, "host-limit", 0, "maximum `elements` of a value that is computed on the host (default: 512 beside a GPU, else 8192)")
	f.BoolVar(&cfg.NoWarmUp, "no-warm-up", false, "compile every kernel at its first use; otherwise, on a processor, kernels are interpreted until compiling pays")
	f.StringVar(&cfg.DisablePasses, "disable-passes", "", "compiler `passes` and fusion rules to disable, separated by commas: "+strings.Join(synth.RuleNames(), ", ")+"; all runs programs one instruction at a time")
	f.rename("no", "disable-passes")
	f.StringVar(&cfg.Matrix, "matrix", node.MatrixHardware, "`way` to sum products of bf16, f16, s8 and u8: hardware, or ordered, which keeps the order of the terms and is many times slower")
	f.BoolVar(&cfg.AllowShaders, "allow-shaders", false, "let clients run SPIR-V of their own, which may crash the driver")
	f.BoolVar(&cfg.AllowClose, "allow-close", false, "let every node close the sessions of every other; otherwise a node closes those of its own processes")
	f.StringVar(&cfg.CacheDir, "cache-dir", "", "`folder` for compiled kernels, or - for none (default: nxvk in the user's cache folder)")
	f.BoolVar(&cfg.Validation, "validation", false, "load the Vulkan validation layer")
	f.StringVar(&cfg.Metrics, "metrics", "", "`address` on which to serve Prometheus metrics, such as 127.0.0.1:9464 (default: none)")
}

// run serves the devices until it is told to stop.
func run(ctx context.Context, args []string) error {
	f := flags("run")
	cfg := node.Config{}
	settings(f, &cfg)
	level := f.String("log-level", "info", "`level` of the log: trace, debug, info, warn, error or disabled")
	eof := f.Bool("exit-on-eof", false, "stop at the end of standard input, so that the node ends with its launcher")
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
	cfg.Ready = func(name string, port int) {
		fmt.Printf("nxvk ready %s %d\n", name, port)
		notify(log, daemon.SdNotifyReady)
	}
	stopping := sync.OnceFunc(func() { notify(log, daemon.SdNotifyStopping) })
	defer context.AfterFunc(ctx, stopping)()
	err = node.Run(ctx, cfg)
	stopping() // where the node has ended before that function began
	return err
}

// notify tells systemd the state of the node, if systemd has started it and waits for that.
func notify(log zerolog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Msg("systemd cannot be told the state of the node; start it by a unit with Type=notify, or without NOTIFY_SOCKET")
	}
}

// logger writes to standard error: lines for people on a terminal, JSON elsewhere.
func logger(level string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Logger{}, fmt.Errorf("%w: --log-level %q: give trace, debug, info, warn, error or disabled", errUsage, level)
	}
	var out io.Writer = os.Stderr
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		out = console(os.Stderr)
	}
	return zerolog.New(out).Level(l).With().Timestamp().Logger(), nil
}

// console writes lines for people, with the date.
func console(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{Out: out, TimeFormat: time.DateTime}
}

func printVersion(_ context.Context, args []string) error {
	f := flags("version")
	if err := f.parse(args); err != nil {
		return err
	}
	fmt.Printf("nxvk-node %s (%s/%s, Vulkan by %s)\n", server.Version(), runtime.GOOS, runtime.GOARCH, vulkan.Binding)
	return f.noArgs()
}
