package kerneltest

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// The meaning of the names of the text form.
var (
	elemByName = named(kernel.U8, kernel.F64, kernel.Elem.String)
	typeByName = named(scalar.Bool, scalar.F64, scalar.Type.String)
	primByName = named(0, scalar.Op(1<<8-1), kernel.PrimName)
)

// named has the numbers from first to last by their names, of those that have one.
func named[T ~uint8](first, last T, name func(T) string) map[string]T {
	m := make(map[string]T)
	for x := int(first); x <= int(last); x++ {
		s := name(T(x))
		if s == "" {
			continue
		}
		if _, twice := m[s]; twice {
			panic(fmt.Sprintf("BUG: two have the name %s", s))
		}
		m[s] = T(x)
	}
	return m
}
