package node

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nxvk/gen/server"
	"nxvk/node/dist"
	"nxvk/ops"
)

// registry has all metrics of the node: of the devices, the network, the process and
// Go's runtime.
func registry(devices server.Reporters, wire *dist.Counters) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		devices,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nxvk_build_info", Help: "1, with the version of the node as labels.",
			ConstLabels: prometheus.Labels{
				"version": server.Version(), "go_version": runtime.Version(),
				"os": runtime.GOOS, "arch": runtime.GOARCH, "digest": ops.Digest(),
			},
		}, func() float64 { return 1 }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "nxvk_connections", Help: "Connected nodes."},
			func() float64 { return float64(wire.Connections.Load()) }),
	)
	for _, row := range wireCounters(wire) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "nxvk_" + row.name, Help: row.help},
			func() float64 { return float64(row.count()) }))
	}
	return r
}

// wireCounter is a counter of the distribution.
type wireCounter struct {
	name, help string
	count      func() uint64
}

func wireCounters(c *dist.Counters) []wireCounter {
	return []wireCounter{
		{"wire_received_bytes_total", "Bytes received from nodes.", c.BytesIn.Load},
		{"wire_sent_bytes_total", "Bytes sent to nodes.", c.BytesOut.Load},
		{"wire_received_messages_total", "Messages received from nodes.", c.MessagesIn.Load},
		{"wire_sent_messages_total", "Messages sent to nodes.", c.MessagesOut.Load},
		{"sockets_accepted_total", "Sockets that were accepted.", c.Accepted.Load},
		{"handshakes_refused_total", "Handshakes refused because of the cookie.", c.Refused.Load},
		{"handshakes_failed_total", "Handshakes that failed otherwise.", c.Failed.Load},
		{"malformed_total", "Connections closed because of what they sent.", c.Malformed.Load},
		{"silent_total", "Connections closed because they sent nothing.", c.Silent.Load},
		{"dropped_messages_total", "Messages to processes that do not exist.", c.Dropped.Load},
	}
}

// serveMetrics answers GET of /metrics, /healthz and /readyz until ctx ends. A server
// that ends before is logged; the node goes on.
func serveMetrics(ctx context.Context, cfg *Config, devices server.Reporters, wire *dist.Counters) error {
	l, err := net.Listen("tcp", cfg.Metrics)
	if err != nil {
		return fmt.Errorf("%w: metrics: %v", ErrNetwork, err)
	}
	s := &http.Server{Handler: reports(cfg, devices, wire), ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: log.New(errorLog{cfg.Log}, "", 0)}
	go func() {
		<-ctx.Done()
		s.Close()
	}()
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error().Err(err).Msg("metrics are served no more")
		}
	}()
	return nil
}

// reports has the handlers of the metrics server. None waits for a device server.
func reports(cfg *Config, devices server.Reporters, wire *dist.Counters) http.Handler {
	r := registry(devices, wire)
	mux := http.NewServeMux()
	// What can be collected is served also where something else cannot.
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{
		Registry: r, ErrorHandling: promhttp.ContinueOnError, ErrorLog: errorLog{cfg.Log},
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := devices.NotReady(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
