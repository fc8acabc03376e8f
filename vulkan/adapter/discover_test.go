package adapter

import (
	"errors"
	"strings"
	"testing"
)

// TestChoose selects devices: digits are an index, whatever the names of the devices.
func TestChoose(t *testing.T) {
	uuids := []string{"6d657361-0000-0000-0000-000000000019", "11111111-2222-3333-4444-555555555555"}
	list := []Adapter{
		{Info: Info{Index: 0, Name: "NVIDIA H200 NVL", UUID: uuids[0]}},
		{Info: Info{Index: 1, Name: "llvmpipe (LLVM 19.1.7, 256 bits)", UUID: uuids[1]}},
	}
	for sel, want := range map[string]int{
		"": 0, "0": 0, "1": 1, "00": 0, "llvm": 1, "LLVM 19": 1, "h200": 0, uuids[1]: 1, strings.ToUpper(uuids[0]): 0, "19.1": 1,
	} {
		c, err := choose(list, sel)
		if err != nil || c.Info.Index != want {
			t.Errorf("%q: %v, %v, want device %d", sel, c, err, want)
		}
	}
	for _, sel := range []string{"2", "9", "19", "200", "256", "99999999999999999999", "-1", "+1", "radeon"} {
		if c, err := choose(list, sel); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), `1 "llvmpipe`) {
			t.Errorf("%q: %v, %v, want ErrNoDevice with what there is", sel, c, err)
		}
	}
}
