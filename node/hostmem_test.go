package node

import (
	"io"
	"testing"

	"github.com/rs/zerolog"
)

// The limit that was asked for holds where the host is the device; otherwise a
// share of the machine does.
func TestHostMemory(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "off") // the test's own heap stays as it is
	physical := physicalMemory()
	share := int64(hostShare * float64(physical))
	for _, x := range []struct {
		name      string
		limit     uint64
		processor bool
		want      int64
	}{
		{"host with a limit", 1 << 20, true, 1 << 20},
		{"host without", 0, true, share},
		{"beside a device", 1 << 20, false, share},
	} {
		cfg := Config{MemoryLimit: x.limit, Log: zerolog.New(io.Discard)}
		h := cfg.newHostMemory(x.processor)
		if physical == 0 && x.want == 0 {
			continue // the system does not say: no limit
		}
		if h.Limit() != x.want {
			t.Errorf("%s: the limit is %d, want %d", x.name, h.Limit(), x.want)
		}
	}
	if physical > 0 && (physical < 64<<20 || physical > 1<<48) {
		t.Errorf("this machine has %d bytes of memory", physical)
	}
}
