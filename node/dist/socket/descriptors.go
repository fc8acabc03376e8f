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
// files.
func CheckDescriptors() error {
	var err error
	var opened []*os.File
	for len(opened) < spareDescriptors && err == nil {
		var f *os.File
		if f, err = os.Open(os.DevNull); err == nil {
			opened = append(opened, f)
		}
	}
	for _, f := range opened {
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDescriptors, err)
	}
	return nil
}
