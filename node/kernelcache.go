package node

import (
	"path/filepath"

	"nxvk/node/archive"
	"nxvk/synth"
)

// openKernelCache opens the kernels that earlier runs of the node compiled. It returns nil
// if there is no cache folder.
func (c *Config) openKernelCache() synth.Archive {
	dir := c.cacheDir()
	if dir == "" {
		return nil
	}
	a, err := archive.Open(filepath.Join(dir, "kernels"), archive.Limit)
	if err != nil {
		c.Log.Warn().Err(err).Msg("the kernel cache cannot be used, so every start compiles all kernels; check --cache-dir")
		return nil
	}
	return a
}
