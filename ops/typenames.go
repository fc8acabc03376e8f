package ops

import (
	"slices"
	"strings"
)

// TypeNames lists types in few words: classes that are complete by their names.
func TypeNames(types []DType) string {
	if len(types) == len(DTypes()) {
		return "all"
	}
	var words []string
	rest := slices.Clone(types)
	for _, g := range []struct {
		name string
		has  func(DType) bool
	}{{"integers", DType.IsInteger}, {"floats", DType.IsFloat}, {"complex", DType.IsComplex}} {
		of := func(all []DType) int {
			return len(slices.DeleteFunc(slices.Clone(all), func(d DType) bool { return !g.has(d) }))
		}
		if of(rest) == of(DTypes()) {
			words = append(words, g.name)
			rest = slices.DeleteFunc(rest, g.has)
		}
	}
	for _, d := range rest {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}
