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
	"nxvk/ops"
)

// registry has all metrics of the node: of the devices, the network, the process and
// Go's runtime.
func registry(devices server.Reporters, n wireNode) *prometheus.Registry {
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
		wire{n},
	)
	return r
}

// serveMetrics answers GET of /metrics, /healthz and /readyz until ctx ends. A server
// that ends before is logged; the node goes on.
func serveMetrics(ctx context.Context, cfg *Config, devices server.Reporters, n wireNode) error {
	l, err := net.Listen("tcp", cfg.Metrics)
	if err != nil {
		return fmt.Errorf("%w: metrics: %v", ErrNetwork, err)
	}
	s := &http.Server{Handler: reports(cfg, devices, n), ReadHeaderTimeout: 5 * time.Second,
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
func reports(cfg *Config, devices server.Reporters, n wireNode) http.Handler {
	r := registry(devices, n)
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
