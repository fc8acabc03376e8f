// Command digest prints one line for each of a fixed set of programs: hashes of
// its plans and of its results.
//
//	digest [-seed S] [-count N] [-device]
//
// A line has the number of the program, its name, and hashes (the first 16 bytes
// of a SHA-256) of
//
//	gpu, software, small   the plans of its instructions one by one and of its fused
//	                       fusions, with the SPIR-V of their kernels, for three devices
//	host                   its results by package fallback
//	node                   its results by package gen/exec without a device
//	device                 its results by package gen/exec on a Vulkan device, with
//	                       -device: NXVK_DEVICE, or the best one
//
// Two versions of the tree that print the same lines compile and compute the same.
// `make digest BASE=COMMIT` compares with another version. The wording of errors,
// names and the text of kernels do not count.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	seed := flag.Uint64("seed", 1, "of the programs and their operands")
	count := flag.Int("count", 1000, "how many programs")
	device := flag.Bool("device", false, "also run them on a Vulkan device")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	columns, end, err := columnsFor(*device)
	if err == nil {
		err = write(programs(*seed, *count), columns)
		end()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "digest:", err)
		os.Exit(1)
	}
}

// column is one of the hashes of a line.
type column struct {
	name  string
	hash  func(p *program) string
	alone bool // one program at a time
}

// columnsFor are the columns of a run. end is called after the last line.
func columnsFor(device bool) (columns []column, end func(), err error) {
	for _, t := range targets {
		columns = append(columns, column{name: t.name, hash: func(p *program) string { return planned(p, &t.target) }})
	}
	columns = append(columns, column{name: "host", hash: onHost}, column{name: "node", hash: inNode})
	if !device {
		return columns, func() {}, nil
	}
	d, err := openDevice()
	if err != nil {
		return nil, nil, err
	}
	return append(columns, column{name: "device", hash: d.run, alone: true}), d.close, nil
}

// write prints the lines of programs in their order, and makes as many at once as
// there are processors.
func write(list []*program, columns []column) error {
	out := bufio.NewWriter(os.Stdout)
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	lines := make([]chan string, len(list))
	var one sync.Mutex
	for i := range list {
		lines[i] = make(chan string, 1)
	}
	go func() {
		for i, p := range list {
			places <- struct{}{}
			go func() {
				lines[i] <- line(i, p, columns, &one)
				<-places
			}()
		}
	}()
	for i := range list {
		fmt.Fprintln(out, <-lines[i])
	}
	return out.Flush()
}

// line is that of a program. Columns that are made alone hold one.
func line(i int, p *program, columns []column, one *sync.Mutex) string {
	s := fmt.Sprintf("%04d %s", i, p.name)
	for _, c := range columns {
		hash := func() string {
			if c.alone {
				one.Lock()
				defer one.Unlock()
			}
			return c.hash(p)
		}()
		s += fmt.Sprintf(" %s=%s", c.name, hash)
	}
	return s
}
