package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/memory"
	"nxvk/gen/link"
	"nxvk/gen/server"
	"nxvk/gen/server/report"
	"nxvk/node/dist"
	"nxvk/node/epmd"
	"nxvk/vulkan"
)

// drainTime is how long the node waits for its actors when it stops.
const drainTime = 5 * time.Second

// gcPercent lets the heap grow to five times its live data before a collection. The heap has
// little live data, since tensors are elsewhere, but messages make much garbage: with Go's
// default of 100 a stream of small instructions is a third slower.
const gcPercent = 400

// managerMailbox is the number of requests that may wait for the manager; it drops more.
const managerMailbox = 4096

// Run serves until ctx ends, then drains and returns.
func Run(ctx context.Context, cfg Config) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := cfg.check(); err != nil {
		return err
	}
	cookie, err := cfg.findCookie()
	if err != nil {
		return err
	}
	devices, err := openDevices(&cfg)
	if err != nil {
		return err
	}
	defer closeDevices(&cfg, devices)
	host := cfg.newHostMemory(isProcessor(devices[0]))
	n, links, err := start(&cfg, cookie, memory.NewAllocator(devices[0], host), host)
	if err != nil {
		return err
	}
	defer stop(n, links, &cfg)
	if err := serve(ctx, &cfg, n, links, devices, host); err != nil {
		return err
	}
	<-ctx.Done()
	cfg.Log.Info().Msg("stopping")
	return nil
}

// start joins the network.
func start(cfg *Config, cookie string, large etf.Allocator, host *memory.Host) (*dist.Node, *link.Links, error) {
	options := dist.Options{
		Name:        gen.Atom(cfg.Name),
		Cookie:      cookie,
		Listen:      net.JoinHostPort(cfg.Listen, fmt.Sprint(cfg.Port)),
		ServeEpmd:   true,
		NetTickTime: cfg.NetTicktime,
		Allocator:   large,
		MaxTerm:     int(min(dist.DefaultMaxTerm, wireShare(host))),
		MaxQueue:    int(min(dist.DefaultMaxQueue, wireShare(host))),
		MaxHeld:     min(dist.DefaultMaxHeld, wireShare(host)),
		Budget:      wireBudget{host},
		Ergo:        gen.NodeOptions{Log: ergoLog(cfg.Log)},
	}
	if !loopback(cfg.Listen) {
		_, port, err := net.SplitHostPort(epmd.DefaultAddress())
		if err != nil {
			return nil, nil, fmt.Errorf("%w: address of epmd: %w: set ERL_EPMD_PORT to a port", ErrNetwork, err)
		}
		options.EpmdListen = net.JoinHostPort(cfg.Listen, port)
	}
	if cfg.trustsAll() {
		cfg.Log.Warn().Msg("TLS without --tls-ca trusts every certificate, so anyone on the way can pose as a peer; give the authorities with --tls-ca")
	}
	if cfg.TLS.Cert != "" {
		options.TLS = &dist.TLSConfig{
			CertFile: cfg.TLS.Cert, KeyFile: cfg.TLS.Key, CAFile: cfg.TLS.CA, Verify: cfg.TLS.CA != "",
		}
	}
	n, err := dist.Start(options)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w%s", ErrNetwork, err, listenCure(err))
	}
	options.Allocator = memory.NewAllocator(nil, host)
	if options.TLS != nil {
		options.TLS = &dist.TLSConfig{CertFile: cfg.TLS.Cert, KeyFile: cfg.TLS.Key, CAFile: cfg.TLS.CA, Verify: cfg.TLS.CA != ""}
	}
	return n, link.New(options), nil
}

// listenCure is what to do about an address that cannot be listened on, or nothing.
func listenCure(err error) string {
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return ": choose another port with --port; 0 picks a free one"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &unknown):
		return ": give an address of this machine with --listen; 0.0.0.0 is all of them"
	case errors.Is(err, syscall.EACCES):
		return ": choose a port above 1023 with --port, or give this process the right to lower ones"
	}
	return ""
}

// serve starts the servers, connects to peers and announces that the node is ready.
func serve(ctx context.Context, cfg *Config, n *dist.Node, links *link.Links, devices []*vulkan.Device, host *memory.Host) error {
	var all report.Reporters
	cache, shared, servers := cfg.openKernelCache(), sched.NewPool(0), server.NewServers(links)
	shared.Reserve()
	for i, d := range devices {
		name := gen.Atom(fmt.Sprintf("nxvk_%d", i))
		log := cfg.Log.With().Str("device", string(name)).Logger()
		target, err := cfg.probe(d, cache)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNoDevice, err)
		}
		target.Archive = cache
		reporter := report.New(name)
		_, err = n.SpawnRegister(name, server.NewDevice(server.DeviceConfig{
			Name: name, Index: i, Vulkan: d, Host: host, Work: shared, Target: target, Limit: cfg.SessionLimit, Deadline: cfg.Deadline, HostLimit: cfg.HostLimit,
			OneByOne: cfg.oneByOne(), WarmUp: !cfg.NoWarmUp, Shaders: cfg.AllowShaders, CloseAny: cfg.AllowClose, Reporter: reporter,
			Servers: servers, Watcher: watcher{n}, Direct: n.Direct, Log: log,
		}), gen.ProcessOptions{})
		if err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		all = append(all, reporter)
		log.Info().Str("name", deviceName(d)).Msg("serving")
	}
	if _, err := n.SpawnRegister(link.ServerName, server.NewPeer(servers, n.Direct, n.Cut, cfg.Log), gen.ProcessOptions{}); err != nil {
		return fmt.Errorf("start %s: %w", link.ServerName, err)
	}
	_, err := n.SpawnRegister(server.ManagerName,
		server.NewManager(server.ManagerConfig{Work: shared, Devices: all, Log: cfg.Log}),
		gen.ProcessOptions{MailboxSize: managerMailbox})
	if err != nil {
		return fmt.Errorf("start %s: %w", server.ManagerName, err)
	}
	if cfg.Metrics != "" {
		if err := serveMetrics(ctx, cfg, all, n); err != nil {
			return err
		}
	}
	return announce(cfg, n)
}

// announce connects to the nodes of --connect, registers the name, and says that the node is
// ready.
func announce(cfg *Config, n *dist.Node) error {
	for name := range strings.SplitSeq(cfg.Connect, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if err := n.Connect(gen.Atom(name)); err != nil {
			return fmt.Errorf("%w: --connect %s: %w", ErrNetwork, name, err)
		}
	}
	if err := awaitRegistration(cfg, n); err != nil {
		return err
	}
	port := n.Addr().(*net.TCPAddr).Port
	cfg.Log.Info().Str("node", cfg.Name).Stringer("address", n.Addr()).Msg("ready")
	if cfg.Ready != nil {
		cfg.Ready(cfg.Name, port)
	}
	return nil
}

// awaitRegistration waits until epmd knows the name of the node. If no epmd answers in
// time, the node serves peers that know its port and keeps trying. Another node of the same
// name is an error.
func awaitRegistration(cfg *Config, n *dist.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := n.AwaitRegistered(ctx)
	if errors.Is(err, epmd.ErrTaken) {
		// epmd may not have noticed yet that an earlier run has ended.
		if again := n.AwaitRegistered(ctx); again != nil {
			return fmt.Errorf("%w: %w: choose another name with --name", ErrNetwork, err)
		}
		return nil
	}
	if err != nil {
		cfg.Log.Warn().Err(err).Msg("epmd does not know this node yet, so peers cannot find it by name; the node keeps trying")
	}
	return nil
}

// stop ends the actors and leaves the network. It does not wait longer than drainTime: the
// process is about to exit.
func stop(n *dist.Node, links *link.Links, cfg *Config) {
	done := make(chan struct{})
	go func() {
		links.Close()
		n.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
		cfg.Log.Warn().Msg("some servers did not end in time; exiting without them")
	}
}

func closeDevices(cfg *Config, devices []*vulkan.Device) {
	for _, d := range devices {
		if d == nil {
			continue
		}
		if err := d.Close(); err != nil {
			cfg.Log.Warn().Err(err).Str("device", deviceName(d)).Msg("the device was not closed properly; exiting")
		}
	}
}

func deviceName(d *vulkan.Device) string {
	if d == nil {
		return "host"
	}
	return d.Info().Name
}

// watcher monitors processes of peers on behalf of the device servers.
type watcher struct{ node *dist.Node }

func (w watcher) Watch(by, target gen.PID) error { return w.node.Monitor(by, target) }

func (w watcher) Unwatch(by, target gen.PID) { w.node.Demonitor(by, target) }
