package bench

import (
	"context"
	"testing"
)

// Both hosts copy each size in each direction, whatever the format.
func TestDevices(t *testing.T) {
	for _, format := range []Format{Table, Benchstat} {
		c := DevicesConfig{Devices: [2]string{"host", "host"}, Bytes: 1 << 20, Time: 1, Format: format}
		if err := Devices(context.Background(), c); err != nil {
			t.Error(err)
		}
	}
	if err := Devices(context.Background(), DevicesConfig{Devices: [2]string{"host", "no such device"}}); err == nil {
		t.Error("a device that is not there is no error")
	}
}
