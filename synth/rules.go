package synth

import "nxvk/synth/lowering"

// RuleNames lists the names that ParseRules knows.
func RuleNames() []string { return lowering.RuleNames() }

// Unproven are the rules that a node leaves out, also where nobody disables them.
const Unproven = lowering.Unproven

// ParseRules reads a list of names of rules and passes, separated by commas.
func ParseRules(list string) (Rules, error) { return lowering.ParseRules(list) }
