package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// physicalMemory returns the bytes of memory that this process can have: those
// of the machine, or of the control group that it is in, such as a container's.
// It returns 0 where nobody says.
func physicalMemory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit)
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return total
	}
	return min(total, groupLimit("/sys/fs/cgroup", string(groups)))
}

// groupLimit returns the lowest memory limit of the control groups that a process
// is in, and of those around them. groups is the text of /proc/self/cgroup, see
// cgroups(7); root is where their hierarchies are mounted.
func groupLimit(root, groups string) uint64 {
	limit := ^uint64(0)
	for line := range strings.Lines(groups) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		base, file := root, "memory.max" // version 2
		if part[0] != "0" {
			base, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
			if !strings.Contains(","+part[1]+",", ",memory,") {
				continue
			}
		}
		for dir := filepath.Clean("/" + part[2]); ; dir = filepath.Dir(dir) {
			limit = min(limit, limitIn(filepath.Join(base, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// limitIn reads the limit in a file of a control group; one that says "max", or
// that is not there, is none.
func limitIn(file string) uint64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return ^uint64(0)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return ^uint64(0)
	}
	return n
}
