//go:build !linux

package work

// yieldToOthers does nothing where threads of a process have one priority.
func yieldToOthers() {}
