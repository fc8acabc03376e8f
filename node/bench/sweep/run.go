package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Result is what was measured of a case. Times are in microseconds.
type Result struct {
	ID     int     `json:"id"`
	Family string  `json:"family"`
	Name   string  `json:"name"`
	Time   float64 `json:"us"`    // median of a repetition, operands resident, results not read
	First  float64 `json:"first"` // from the first instruction to the first element of the result
	Bytes  float64 `json:"bytes"`
	Ops    float64 `json:"ops"`
	Share  float64 `json:"share,omitempty"` // of the device's own copy or product rate, the larger
	Error  string  `json:"error,omitempty"`
}

// Config says what Run measures.
type Config struct {
	Device  string        // by index, name or UUID; empty is the best one, host the host
	Against string        // another device that measures each case, too; empty is none
	Cases   []Case        // the list
	Budget  time.Duration // after which no case begins; 0 is none
	Results io.Writer     // gets a JSON line for each case as soon as it is measured; nil is nobody
}

// ErrFailed reports that cases failed.
var ErrFailed = errors.New("cases failed")

// Run measures cases and prints a table. It returns ErrFailed after cases that failed.
func Run(ctx context.Context, out io.Writer, cfg Config) error {
	began := time.Now()
	var machines []*machine
	for _, name := range []string{cfg.Device, cfg.Against} {
		if name == "" && len(machines) > 0 {
			continue
		}
		m, err := open(name)
		if err != nil {
			return err
		}
		defer m.close()
		if err := m.calibrate(); err != nil {
			return err
		}
		fmt.Fprintf(out, "device: %v; copies %.1f GB/s\n", m, m.copies/1e9)
		machines = append(machines, m)
	}
	results := make([][]Result, len(machines))
	for i := range cfg.Cases {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if cfg.Budget > 0 && time.Since(began) > cfg.Budget {
			fmt.Fprintf(out, "%d of %d cases left: the budget of %v is spent\n", len(cfg.Cases)-i, len(cfg.Cases), cfg.Budget)
			break
		}
		for k, m := range machines {
			r := m.measure(&cfg.Cases[i])
			results[k] = append(results[k], r)
			if k == 0 && cfg.Results != nil {
				if err := json.NewEncoder(cfg.Results).Encode(r); err != nil {
					return err
				}
			}
		}
	}
	if len(machines) > 1 {
		return compare(out, results[0], results[1], machines[1].String())
	}
	return report(out, results[0])
}
