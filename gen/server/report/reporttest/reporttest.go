// Package reporttest gathers metrics in tests as Prometheus does.
package reporttest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// Gather collects as Prometheus does, and checks what that demands.
func Gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(list).Lint()
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	families := make(map[string]*dto.MetricFamily)
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

// Label is the value of a label of a metric, or empty.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
