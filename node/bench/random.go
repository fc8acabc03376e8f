package bench

import (
	_ "embed"
	"strconv"
	"strings"

	"nxvk/ops"
	text "nxvk/synth/graph"
)

// uniformText is what Nx.Random.uniform becomes for a vector of ALL numbers, twice
// HALF: the key is split in two by the rounds of threefry, which then make the bits
// of all numbers out of one half of it.
//
//go:embed uniform.txt
var uniformText string

func uniform(half int) *ops.Region {
	sizes := strings.NewReplacer("ALL", strconv.Itoa(2*half), "HALF", strconv.Itoa(half))
	r, err := text.Parse(sizes.Replace(uniformText))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return r
}
