//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Binding says how the package calls Vulkan.
const Binding = "purego"

// loader has the address of vkGetInstanceProcAddr.
var loader struct {
	mu       sync.Mutex
	procAddr uintptr
}

// Load opens the Vulkan loader. It is cheap after the first success.
func Load() error {
	loader.mu.Lock()
	defer loader.mu.Unlock()
	if loader.procAddr != 0 {
		return nil
	}
	f, err := load(libraries)
	loader.procAddr = f
	return err
}

// load returns vkGetInstanceProcAddr of the first of the libraries that has it.
func load(names []string) (uintptr, error) {
	var first error
	for _, name := range names {
		f, err := openLoader(name)
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = fmt.Errorf("%s not found: %w", name, err)
		}
	}
	return 0, first
}

// call calls a function of Vulkan. Objects that arguments point to stay alive and in place for the
// call; what they point to in turn is pinned by the caller.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) Result {
	r, _, _ := purego.SyscallN(f, args...)
	return Result(int32(uint32(r)))
}

// callAddress is call of a function that returns an address.
//
//go:uintptrescapes
func callAddress(f uintptr, args ...uintptr) uint64 {
	r, _, _ := purego.SyscallN(f, args...)
	return uint64(r)
}

// procAddr returns a function of an instance, or one that needs none where instance is 0.
func procAddr(instance uintptr, name string) uintptr {
	return resolve(loader.procAddr, instance, name)
}

// resolve returns what a get, vkGetInstanceProcAddr or vkGetDeviceProcAddr, says of name.
func resolve(get, handle uintptr, name string) uintptr {
	r, _, _ := purego.SyscallN(get, handle, uintptr(cString(name)))
	return r
}

// resolveAll sets the fields of *table, which have the names of functions without their vk. It
// reports whether all were found.
func resolveAll(table any, get, handle uintptr) bool {
	all, v := true, reflect.ValueOf(table).Elem()
	for i := range v.NumField() {
		f := resolve(get, handle, "vk"+v.Type().Field(i).Name)
		v.Field(i).SetUint(uint64(f))
		all = all && f != 0
	}
	return all
}

// cString returns a copy of s that ends in a zero byte.
func cString(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(append([]byte(s), 0))) }

// goString copies a string that ends in a zero byte.
func goString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// pinned pins *v, so that another structure that C reads may point to it.
func pinned[T any](p *runtime.Pinner, v *T) unsafe.Pointer {
	p.Pin(v)
	return unsafe.Pointer(v)
}

// pinnedSlice pins the elements of a slice. The address of an empty slice is nil.
func pinnedSlice[T any](p *runtime.Pinner, s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return pinned(p, &s[0])
}

// kept has the objects that handles stand for, which keeps them from the garbage collector.
var kept sync.Map

// keep returns the handle of an object, its address, and pins it until drop.
func keep[T any](p *runtime.Pinner, v *T) uintptr {
	p.Pin(v)
	kept.Store(v, nil)
	return uintptr(unsafe.Pointer(v))
}

func drop[T any](p *runtime.Pinner, v *T) {
	kept.Delete(v)
	p.Unpin()
}
