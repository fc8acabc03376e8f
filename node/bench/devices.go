package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"nxvk/node/bench/mesh"
)

// DevicesConfig has the settings of Devices.
type DevicesConfig struct {
	Devices [2]string // by index, name or UUID, or host; the same one is opened twice
	Bytes   int       // of the largest value
	Time    time.Duration
	Format  Format
}

// Devices measures values that one device imports from another one of the node: one way, the other way,
// and both ways at once. A copy begins when the value is there and ends when the importer has it.
func Devices(ctx context.Context, c DevicesConfig) error {
	sides, err := mesh.Open(c.Devices[:], nil, nil)
	if err != nil {
		return err
	}
	defer sides.Close()
	names := fmt.Sprintf("%s, %s", sides[0].Name, sides[1].Name)
	if c.Format == Benchstat {
		header(os.Stdout, names)
	} else {
		fmt.Printf("%s\n%-6s %12s %12s %12s\n", names, "", "bytes", "time", "GB/s")
	}
	for bytes := 4 << 10; bytes <= c.Bytes; bytes *= 8 {
		for _, way := range []struct {
			name string
			to   []int
		}{{"0 to 1", []int{1}}, {"1 to 0", []int{0}}, {"both", []int{0, 1}}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, took, err := copies(sides, way.to, bytes, c.Time)
			if err != nil {
				return err
			}
			each := took / time.Duration(n)
			rate := float64(len(way.to)) * float64(bytes) / each.Seconds()
			if c.Format == Benchstat {
				line(os.Stdout, fmt.Sprintf("copy/%s/%d", way.name, bytes), n, perOp(each), quantity{rate, "B/s"})
			} else {
				fmt.Printf("%-6s %12d %12v %12.2f\n", way.name, bytes, each.Round(time.Microsecond/10), rate/1e9)
			}
		}
	}
	return nil
}

// copies has each of the sides import a value of the other one again and again for a time. It returns
// how often each has, and the time.
func copies(sides mesh.Sides, to []int, bytes int, least time.Duration) (n int, took time.Duration, err error) {
	for _, i := range to {
		if err := sides[1-i].Provide(bytes); err != nil {
			return 0, 0, err
		}
	}
	round := func() error {
		errs := make([]error, len(to))
		var all sync.WaitGroup
		for k, i := range to {
			all.Go(func() { errs[k] = sides[i].Take(sides[1-i], bytes) })
		}
		all.Wait()
		return errors.Join(errs...)
	}
	if err := round(); err != nil { // memory is taken, and kernels are compiled
		return 0, 0, err
	}
	for start := time.Now(); took < least; took = time.Since(start) {
		if err := round(); err != nil {
			return 0, 0, err
		}
		n++
	}
	return n, took, nil
}
