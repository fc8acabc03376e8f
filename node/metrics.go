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
	"nxvk/gen/server/report"
	"nxvk/ops/terms"
)

// newRegistry returns the metrics of the devices, the network, the process and Go's runtime.
func newRegistry(devices report.Reporters, n wireNode) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		devices,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nxvk_build_info", Help: "Constant 1; the labels are the version of the node and of what it was built with.",
			ConstLabels: prometheus.Labels{
				"version": server.Version(), "go_version": runtime.Version(),
				"os": runtime.GOOS, "arch": runtime.GOARCH, "digest": terms.Digest(),
			},
		}, func() float64 { return 1 }),
		wireCollector{n},
	)
	return r
}

// serveMetrics serves /metrics, /healthz and /readyz until ctx ends. If the server fails,
// that is logged and the node continues without it.
func serveMetrics(ctx context.Context, cfg *Config, devices report.Reporters, n wireNode) error {
	l, err := net.Listen("tcp", cfg.Metrics)
	if err != nil {
		return fmt.Errorf("%w: --metrics %s: %v: choose a free address of this machine", ErrNetwork, cfg.Metrics, err)
	}
	s := &http.Server{Handler: newHandler(cfg, devices, n), ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: log.New(errorLog{cfg.Log}, "", 0)}
	go func() {
		<-ctx.Done()
		s.Close()
	}()
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error().Err(err).Msg("the metrics server has failed; restart nxvk-node to have metrics again")
		}
	}()
	return nil
}

// newHandler returns the handler of the metrics server. It never waits for a device server.
func newHandler(cfg *Config, devices report.Reporters, n wireNode) http.Handler {
	r := newRegistry(devices, n)
	mux := http.NewServeMux()
	// A collector that fails does not keep the others from being served.
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
