package node

import (
	"path/filepath"

	"nxvk/node/archive"
	"nxvk/synth"
)

// kept is what compiling gave in earlier lives of the node; nil where nothing is
// kept.
func (c *Config) kept() synth.Archive {
	dir := c.cacheDir()
	if dir == "" {
		return nil
	}
	a, err := archive.Open(filepath.Join(dir, "kernels"), archive.Limit)
	if err != nil {
		c.Log.Warn().Err(err).Msg("kernels are compiled each time")
		return nil
	}
	return a
}
