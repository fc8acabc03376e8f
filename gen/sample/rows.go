package sample

import (
	"nxvk/gen/exec/feed"
	"nxvk/vulkan"
)

// Rows is what leapfrog steps give: for each instance and step, in this order. The bytes
// are valid until Release, which may be called from any goroutine.
type Rows struct {
	Q, P, Grad, LogP []byte
	Release          func() // may be nil
}

// Free releases the rows.
func (r *Rows) Free() {
	if r.Release != nil {
		r.Release()
	}
}

// ReadRows reads the four buffers of rows back. The rows that the device wrote are lent,
// not copied: many chains write megabytes. With poll done may be called before ReadRows
// returns.
func ReadRows(f *feed.Feed, args []vulkan.Arg, sizes []int, poll bool, done func(Rows, error)) {
	f.ReadAll(args, sizes, poll, func(parts [][]byte, release func(), err error) {
		if err != nil {
			done(Rows{}, err)
			return
		}
		done(Rows{parts[0], parts[1], parts[2], parts[3], release}, nil)
	})
}
