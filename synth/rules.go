package synth

import "nxvk/synth/lowering"

// RuleNames lists the names that ParseRules knows.
func RuleNames() []string { return lowering.RuleNames() }

// ParseRules reads a list of names of rules and passes, separated by commas.
func ParseRules(list string) (Rules, error) { return lowering.ParseRules(list) }
