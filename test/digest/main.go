// Command digest prints one line for each of a fixed set of programs: hashes of the
// program, of its plans and of its results.
//
//	digest [-seed S] [-count N] [-device] [-gpu]
//	digest -compare BASE HERE
//
// A line has the name of the program and hashes (the first 16 bytes of a SHA-256) of
//
//	program                the instructions and operands themselves
//	gpu, software, small   the plans of its instructions one by one and of its
//	                       fusions, with the SPIR-V of their kernels, for three devices
//	host                   its results by package fallback
//	node                   its results by package gen/exec without a device
//	device                 its results by package gen/exec on a Vulkan device, with
//	                       -device: NXVK_DEVICE, or the best one
//	kernels                the same by the kernels that a GPU gets, with -gpu
//
// Two versions of the tree that print the same lines compile and compute the same.
// `make digest BASE=COMMIT` compares with another version. The wording of errors,
// names and the text of kernels do not count.
//
// With -compare, it compares the lines in two files, program by program. An operation
// that is new in the table has programs of its own, and changes some of those that are
// drawn: programs that only one version has are counted and not compared.
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
	gpu := flag.Bool("gpu", false, "also run them there by the kernels of a GPU, though the device be a processor")
	files := flag.Bool("compare", false, "compare the lines in the files BASE and HERE")
	flag.Parse()
	var err error
	switch {
	case *files && flag.NArg() == 2:
		err = compare(os.Stdout, flag.Arg(0), flag.Arg(1))
	case *files || flag.NArg() > 0 || *count < 1:
		flag.Usage()
		os.Exit(2)
	default:
		err = run(*seed, *count, *device, *gpu)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "digest:", err)
		os.Exit(1)
	}
}

// run prints the lines of so many programs of a seed.
func run(seed uint64, count int, device, gpu bool) error {
	columns, end, err := columnsFor(device, gpu)
	defer end()
	if err != nil {
		return err
	}
	return write(programs(seed, count), columns)
}

// column is one of the hashes of a line.
type column struct {
	name  string
	hash  func(p *program) string
	alone bool // one program at a time
}

// columnsFor are the columns of a run. end is called after the last line, or where there is an error.
func columnsFor(onDevice, asGPU bool) (columns []column, end func(), err error) {
	columns = append(columns, column{name: "program", hash: written})
	for _, t := range targets {
		columns = append(columns, column{name: t.name, hash: func(p *program) string { return planned(p, &t.target) }})
	}
	columns = append(columns, column{name: "host", hash: onHost}, column{name: "node", hash: inNode})
	var opened []*device
	end = func() {
		for _, d := range opened {
			d.close()
		}
	}
	for _, c := range []struct {
		name   string
		wanted bool
		open   func() (*device, error)
	}{{"device", onDevice, openDevice}, {"kernels", asGPU, openGPU}} {
		if !c.wanted {
			continue
		}
		d, err := c.open()
		if err != nil {
			return nil, end, err
		}
		opened = append(opened, d)
		columns = append(columns, column{name: c.name, hash: d.run, alone: true})
	}
	return columns, end, nil
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
				lines[i] <- line(p, columns, &one)
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
func line(p *program, columns []column, one *sync.Mutex) string {
	s := p.name
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
