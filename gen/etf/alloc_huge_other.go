//go:build unix && !linux

package etf

// adviseHuge does nothing: the system chooses its pages itself.
func adviseHuge([]byte) {}
