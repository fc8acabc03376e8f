package socket

import (
	"errors"
	"fmt"
	"os"
)

// ErrDescriptors says that this process has too few file descriptors left for another
// connection. A higher ulimit -n gives it more.
var ErrDescriptors = errors.New("too few file descriptors left; raise ulimit -n")

// spareDescriptors is how many file descriptors have to be left for another peer: a
// connection needs some for a moment, and the node does for what its peers ask.
const spareDescriptors = 4

// CheckDescriptors returns ErrDescriptors where this process cannot open some more
// files. It opens pipes, for which a root needs no file of a device.
func CheckDescriptors() error {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	for len(opened) < spareDescriptors {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDescriptors, err)
		}
		opened = append(opened, r, w)
	}
	return nil
}
