package pipeline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"nxvk/vulkan/vk"
)

// The pipeline cache on disk is one file a device and driver:
//
//	magic                 8 bytes
//	SHA-256 of the key    32 bytes
//	SHA-256 of the data   32 bytes
//	data                  what the driver gave
//
// The key names the device and its driver in full, because some drivers have the same
// pipelineCacheUUID in every build. A file with another key or with damaged data is not used:
// Options.OnCache gets the reason, and the next file replaces it, since the name of the file has no
// version of the driver.
//
// Several nodes may have one file, as those of two scripts. Who saves a cache keeps what the file has, and who has compiled
// nothing writes nothing.
const cacheMagic = "nxvkpc\x00\x01"

const cacheHeader = len(cacheMagic) + 2*sha256.Size

// A cache starts over when it has more than maxCache bytes, since it keeps pipelines of programs that
// nobody runs any more. Its size is checked when it is saved, and each time that checkEvery more
// pipelines have been compiled.
const (
	maxCache   = 128 << 20
	checkEvery = 512
)

// driverCache is a pipeline cache of the driver. It is destroyed when another one has replaced it and
// nobody compiles with it.
type driverCache struct {
	handle  vk.PipelineCache
	merging sync.RWMutex // is held while data is merged into it
	users   int
	over    bool
}

// Reasons why a file is not used.
var (
	errCacheFormat = errors.New("it is not a pipeline cache")
	errCacheDriver = errors.New("it is of another driver")
	errCacheData   = errors.New("it is damaged")
	errCacheSize   = errors.New("it has become too large")
)

// cacheKey returns a hash of everything that makes cached pipelines useless when it changes.
func cacheKey(v *vk.Info) [sha256.Size]byte {
	text := fmt.Sprintf("%x\x00%x\x00%x\x00%x\x00%x\x00%x\x00%s\x00%s\x00%s\x00%d",
		v.Vendor, v.Device, v.API, v.DriverVersion, v.DriverID, v.CacheUUID,
		v.Driver, v.DriverInfo, v.Name, unsafe.Sizeof(uintptr(0)))
	return sha256.Sum256([]byte(text))
}

// cacheFile returns the name of the file of a device and a kind of driver.
func (c *Compiler) cacheFile() string {
	v := &c.d.Raw
	name := sha256.Sum256(fmt.Appendf(nil, "%x\x00%x\x00%x\x00%s", v.Vendor, v.Device, v.DriverID, v.Name))
	return filepath.Join(c.d.Options.CacheDir, fmt.Sprintf("pipelines-%x.bin", name[:8]))
}

// openCache creates the cache, from the file where that is valid.
func (c *Compiler) openCache() error {
	data, err := c.readCache()
	h, r := vk.CreatePipelineCache(c.d.VK, data)
	if r != vk.Success && len(data) > 0 {
		err = r
		h, r = vk.CreatePipelineCache(c.d.VK, nil)
	}
	if err != nil && c.d.Options.OnCache != nil {
		c.d.Options.OnCache(fmt.Errorf("the pipeline cache %s is not used: %w", c.cacheFile(), err))
	}
	if r != vk.Success {
		return fmt.Errorf("create a pipeline cache: %w", r)
	}
	c.cache, c.most = &driverCache{handle: h}, maxCache
	return nil
}

// takeCache returns the cache to compile with. It is not destroyed before giveCache.
func (c *Compiler) takeCache() *driverCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache.users++
	return c.cache
}

// giveCache ends a use of a cache; mu is held.
func (c *Compiler) giveCache(old *driverCache) {
	if old.users--; old.over && old.users == 0 {
		vk.DestroyPipelineCache(c.d.VK, old.handle)
	}
}

// boundCache replaces a cache that is too large by an empty one; mu is held. It returns the data of
// the cache, nil where it was replaced.
func (c *Compiler) boundCache() ([]byte, error) {
	c.cache.merging.RLock()
	data, r := vk.GetPipelineCacheData(c.d.VK, c.cache.handle)
	c.cache.merging.RUnlock()
	if r != vk.Success {
		return nil, fmt.Errorf("read the pipeline cache: %w", r)
	}
	if len(data) <= c.most {
		return data, nil
	}
	h, r := vk.CreatePipelineCache(c.d.VK, nil)
	if r != vk.Success {
		return nil, fmt.Errorf("create a pipeline cache: %w", r)
	}
	old := c.cache
	c.cache, old.over = &driverCache{handle: h}, true
	old.users++
	c.giveCache(old)
	return nil, nil
}

// readCache returns the data of the file, nil where there is no file.
func (c *Compiler) readCache() ([]byte, error) {
	if c.d.Options.CacheDir == "" {
		return nil, nil
	}
	file, err := os.ReadFile(c.cacheFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(file) > maxCache:
		return nil, errCacheSize
	}
	return decodeCache(file, cacheKey(&c.d.Raw))
}

// Save writes the cache to Options.CacheDir, as Close does. A reader never sees half a file.
func (c *Compiler) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		return nil // Close has done it
	}
	return c.saveCache()
}

func (c *Compiler) saveCache() error {
	if c.d.Options.CacheDir == "" || c.d.Lost() != nil || !c.fresh {
		return nil
	}
	data, err := c.boundCache()
	if err != nil || data == nil {
		return err // the file saved before stays
	}
	if both := c.withSaved(); both != nil {
		data = both
	}
	if err := writeFile(c.cacheFile(), encodeCache(data, cacheKey(&c.d.Raw))); err != nil {
		return fmt.Errorf("save the pipeline cache: %w", err)
	}
	c.fresh = false
	return nil
}

// withSaved returns the data of the cache together with those of the file, nil where the file cannot be used or both are too
// large; mu is held.
func (c *Compiler) withSaved() []byte {
	saved, err := c.readCache()
	if err != nil || saved == nil {
		return nil
	}
	both, r := vk.CreatePipelineCache(c.d.VK, saved)
	if r != vk.Success {
		return nil
	}
	defer vk.DestroyPipelineCache(c.d.VK, both)
	c.cache.merging.RLock()
	r = vk.MergePipelineCache(c.d.VK, both, c.cache.handle)
	c.cache.merging.RUnlock()
	if r != vk.Success {
		return nil
	}
	data, r := vk.GetPipelineCacheData(c.d.VK, both)
	if r != vk.Success || len(data) > c.most {
		return nil
	}
	return data
}

func encodeCache(data []byte, key [sha256.Size]byte) []byte {
	sum := sha256.Sum256(data)
	out := make([]byte, 0, cacheHeader+len(data))
	out = append(out, cacheMagic...)
	out = append(out, key[:]...)
	out = append(out, sum[:]...)
	return append(out, data...)
}

// decodeCache returns the data of a file for a key, or the reason why it cannot be used.
func decodeCache(file []byte, key [sha256.Size]byte) ([]byte, error) {
	if len(file) < cacheHeader || string(file[:len(cacheMagic)]) != cacheMagic {
		return nil, errCacheFormat
	}
	have, sum := file[len(cacheMagic):][:sha256.Size], file[len(cacheMagic)+sha256.Size:][:sha256.Size]
	data := file[cacheHeader:]
	want := sha256.Sum256(data)
	switch {
	case string(have) != string(key[:]):
		return nil, errCacheDriver
	case string(sum) != string(want[:]):
		return nil, errCacheData
	}
	return data, nil
}

// writeFile replaces a file. A reader sees the old file or the new one, and never a part.
func writeFile(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
