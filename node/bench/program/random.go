package program

import (
	_ "embed"
	"strconv"
	"strings"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// uniformText is the program of Nx.Random.uniform for a vector of ALL numbers,
// twice HALF. The rounds of threefry split the key in two, and then compute the
// bits of all numbers from one of the two keys.
//
//go:embed uniform.txt
var uniformText string

// Uniform is Nx.Random.uniform for a vector of twice half numbers.
func Uniform(half int) *ops.Region {
	sizes := strings.NewReplacer("ALL", strconv.Itoa(2*half), "HALF", strconv.Itoa(half))
	r, err := notation.Parse(sizes.Replace(uniformText))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return r
}
