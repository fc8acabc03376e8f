//go:build unix

package devfile

import (
	"os"
	"strconv"
	"syscall"
)

// groupID returns the number of the group of a file.
func groupID(info os.FileInfo) (string, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return strconv.FormatUint(uint64(st.Gid), 10), true
}
