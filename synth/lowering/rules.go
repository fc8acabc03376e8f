package lowering

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rules is a set of the rules by which instructions come into one fusion, and of
// the passes before that.
type Rules uint32

// The rules.
const (
	RulePointwise  Rules = 1 << iota // elementwise operations with one another
	RuleViews                        // views into their readers
	RuleReduceIn                     // elementwise operations into the reduction of their result
	RuleReduceOut                    // reductions into operations on their results
	RuleMulti                        // reductions of the same elements with one another
	RuleRows                         // reductions of rows with operations on the same rows
	RuleProducts                     // elementwise operations into the product or the convolution before them (an epilogue)
	RuleHorizontal                   // small elementwise operations with others that they do not depend on

	RuleChains // small fusions into the kernels that read their results, whose workgroups each carry them out

	// The passes of Simplify, by their names in package graph.
	RuleSimplify
	RuleConstants
	RuleCommon
	RuleDead

	// RuleAttention is the pass that finds attention in compiled programs; see package attention.
	RuleAttention

	// RuleIndices is the pass that computes elements at indices of rows alone, or compares the indices, in compiled programs; see graph.Compare.
	RuleIndices

	// RuleWeights is the pass that computes the matrices of products in compiled programs, and has products read integers of
	// 8 bits as they are; see graph.Dequantize and graph.Integers.
	RuleWeights

	// RuleSwap is the passes that exchange the operands of transposed products in compiled programs, and on a processor have
	// products read transposed operands as they lie; see graph.Swap and graph.FoldTransposes.
	RuleSwap

	// RulePads is the pass that has products read values without the zeros around them in compiled programs; see
	// graph.Unpad.
	RulePads

	// RuleSplit is the pass that makes two products of bf16 of one of f32 and bf16 in compiled programs; see graph.Split.
	RuleSplit

	// RuleHoist is the pass that moves products out of loops in compiled programs; see graph.Hoist.
	RuleHoist

	// RuleInvariant is the pass that computes before a loop what is the same in all rounds; see graph.Invariant.
	RuleInvariant

	// RuleGradients is the pass that finds gradients of attention in compiled programs; see package attention/gradient.
	RuleGradients

	// RuleAbreast puts small kernels, and products of one vector, that do not depend on one another into one kernel.
	RuleAbreast
)

// RulesByName has the rules and passes by their names.
var RulesByName = map[string]Rules{"pointwise": RulePointwise, "views": RuleViews, "reduce_in": RuleReduceIn,
	"reduce_out": RuleReduceOut, "multi": RuleMulti, "rows": RuleRows, "products": RuleProducts, "horizontal": RuleHorizontal, "chains": RuleChains,
	"simplify": RuleSimplify, "constants": RuleConstants, "common": RuleCommon, "dead": RuleDead,
	"attention": RuleAttention, "indices": RuleIndices, "weights": RuleWeights, "swap": RuleSwap, "pads": RulePads, "split": RuleSplit, "hoist": RuleHoist, "invariant": RuleInvariant, "abreast": RuleAbreast, "gradients": RuleGradients}

// formerNames are names that this release accepts and the next one does not.
var formerNames = map[string]string{"beside": "horizontal"}

// String lists the names of the rules, in their order, separated by commas.
func (r Rules) String() string {
	var names []string
	for one := Rules(1); one != 0; one <<= 1 {
		for name, rule := range RulesByName {
			if r&one != 0 && rule == one {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// RuleNames lists the names that ParseRules knows.
func RuleNames() []string { return slices.Sorted(maps.Keys(RulesByName)) }

// ParseRules reads a list of names, separated by commas.
func ParseRules(list string) (Rules, error) {
	var r Rules
	for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		if current, ok := formerNames[name]; ok {
			name = current
		}
		one, ok := RulesByName[name]
		if !ok {
			return 0, fmt.Errorf("unknown rule %q", name)
		}
		r |= one
	}
	return r, nil
}
