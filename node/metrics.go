package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"nxvk/gen/server"
	"nxvk/node/dist"
)

// wireMetrics are the numbers of the distribution.
func wireMetrics(c *dist.Counters) server.Metrics {
	counter := func(name, help string, v uint64) server.Metric {
		return server.Metric{Name: name, Help: help, Counter: true, Device: "", Value: float64(v)}
	}
	return server.Metrics{
		{Name: "connections", Help: "Connected nodes.", Value: float64(c.Connections.Load())},
		counter("wire_received_bytes_total", "Bytes received from nodes.", c.BytesIn.Load()),
		counter("wire_sent_bytes_total", "Bytes sent to nodes.", c.BytesOut.Load()),
		counter("wire_received_messages_total", "Messages received from nodes.", c.MessagesIn.Load()),
		counter("wire_sent_messages_total", "Messages sent to nodes.", c.MessagesOut.Load()),
		counter("handshakes_refused_total", "Handshakes refused because of the cookie.", c.Refused.Load()),
		counter("handshakes_failed_total", "Handshakes that failed otherwise.", c.Failed.Load()),
		counter("malformed_total", "Connections closed because of what they sent.", c.Malformed.Load()),
	}
}

// serveMetrics answers GET /metrics with what collect gives, until ctx ends. A
// server that ends before is logged; the node goes on.
func serveMetrics(ctx context.Context, cfg *Config, collect func() (server.Metrics, error)) error {
	l, err := net.Listen("tcp", cfg.Metrics)
	if err != nil {
		return fmt.Errorf("%w: metrics: %v", ErrNetwork, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		m, err := collect()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		m.Write(w)
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
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
