package vulkan

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// The key names the device and its driver in full, because drivers exist whose
// pipelineCacheUUID is the same for every build. A file that differs in
// anything is as good as none, but for Options.OnCache, which is told, and the next
// one takes its place: the name has no version of the driver.
const cacheMagic = "nxvkpc\x00\x01"

const cacheHeader = len(cacheMagic) + 2*sha256.Size

// A cache starts over when it has more bytes than maxCache: it keeps pipelines of
// programs that nobody runs any more. That is looked at when it is saved, and whenever
// so many pipelines more have been compiled.
const (
	maxCache   = 128 << 20
	checkEvery = 512
)

// driverCache is the cache of the driver. It is destroyed when another one has taken
// its place and nobody compiles with it.
type driverCache struct {
	handle vk.PipelineCache
	users  int
	over   bool
}

// Why a file is not used.
var (
	errCacheFormat = errors.New("it is no cache of pipelines")
	errCacheDriver = errors.New("it is of another driver")
	errCacheData   = errors.New("it is damaged")
	errCacheSize   = errors.New("it has become too large")
)

// cacheKey hashes all that makes cached pipelines useless when it changes.
func cacheKey(v *vk.Info) [sha256.Size]byte {
	text := fmt.Sprintf("%x\x00%x\x00%x\x00%x\x00%x\x00%x\x00%s\x00%s\x00%s\x00%d",
		v.Vendor, v.Device, v.API, v.DriverVersion, v.DriverID, v.CacheUUID,
		v.Driver, v.DriverInfo, v.Name, unsafe.Sizeof(uintptr(0)))
	return sha256.Sum256([]byte(text))
}

// cacheFile names the file of a device and a kind of driver.
func (k *kernels) cacheFile() string {
	v := &k.d.raw
	name := sha256.Sum256(fmt.Appendf(nil, "%x\x00%x\x00%x\x00%s", v.Vendor, v.Device, v.DriverID, v.Name))
	return filepath.Join(k.d.opts.CacheDir, fmt.Sprintf("pipelines-%x.bin", name[:8]))
}

// openCache makes the cache, from the file where that is valid.
func (k *kernels) openCache() error {
	data, err := k.readCache()
	c, r := vk.CreatePipelineCache(k.d.dev, data)
	if r != vk.Success && len(data) > 0 {
		err = r
		c, r = vk.CreatePipelineCache(k.d.dev, nil)
	}
	if err != nil && k.d.opts.OnCache != nil {
		k.d.opts.OnCache(fmt.Errorf("the cache of pipelines %s is not used: %w", k.cacheFile(), err))
	}
	if r != vk.Success {
		return fmt.Errorf("create a pipeline cache: %w", r)
	}
	k.cache, k.most = &driverCache{handle: c}, maxCache
	return nil
}

// takeCache is the cache to compile with, until giveCache.
func (k *kernels) takeCache() *driverCache {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cache.users++
	return k.cache
}

// giveCache ends a use of a cache; mu is held.
func (k *kernels) giveCache(c *driverCache) {
	if c.users--; c.over && c.users == 0 {
		vk.DestroyPipelineCache(k.d.dev, c.handle)
	}
}

// boundCache has the cache start over where that has become too large; mu is held. It
// gives the data of the cache, nil where it has started over.
func (k *kernels) boundCache() ([]byte, error) {
	data, r := vk.GetPipelineCacheData(k.d.dev, k.cache.handle)
	if r != vk.Success {
		return nil, fmt.Errorf("read the pipeline cache: %w", r)
	}
	if len(data) <= k.most {
		return data, nil
	}
	c, r := vk.CreatePipelineCache(k.d.dev, nil)
	if r != vk.Success {
		return nil, fmt.Errorf("create a pipeline cache: %w", r)
	}
	old := k.cache
	k.cache, old.over = &driverCache{handle: c}, true
	old.users++
	k.giveCache(old)
	return nil, nil
}

// readCache reads the data of the file, none where there is no file.
func (k *kernels) readCache() ([]byte, error) {
	if k.d.opts.CacheDir == "" {
		return nil, nil
	}
	file, err := os.ReadFile(k.cacheFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(file) > maxCache:
		return nil, errCacheSize
	}
	return decodeCache(file, cacheKey(&k.d.raw))
}

// SaveCache writes the pipeline cache to Options.CacheDir, as Close does. A
// reader never sees half a file.
func (d *Device) SaveCache() error {
	d.kernels.mu.Lock()
	defer d.kernels.mu.Unlock()
	if d.kernels.all == nil {
		return nil // Close has done it
	}
	return d.kernels.saveCache()
}

func (k *kernels) saveCache() error {
	if k.d.opts.CacheDir == "" || k.d.Lost() != nil {
		return nil
	}
	data, err := k.boundCache()
	if err != nil || data == nil {
		return err // what was saved before is there
	}
	if err := writeFile(k.cacheFile(), encodeCache(data, cacheKey(&k.d.raw))); err != nil {
		return fmt.Errorf("save the pipeline cache: %w", err)
	}
	return nil
}

func encodeCache(data []byte, key [sha256.Size]byte) []byte {
	sum := sha256.Sum256(data)
	out := make([]byte, 0, cacheHeader+len(data))
	out = append(out, cacheMagic...)
	out = append(out, key[:]...)
	out = append(out, sum[:]...)
	return append(out, data...)
}

// decodeCache returns the data of a file made for key, or why it is none.
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

// writeFile replaces a file as a whole.
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

// words turns SPIR-V bytes into words.
func words(code []byte) []uint32 {
	out := make([]uint32, len(code)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	return out
}
