package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Result is what was measured of a case. Times are in microseconds.
type Result struct {
	ID     int     `json:"id"`
	Family string  `json:"family"`
	Name   string  `json:"name"`
	Time   float64 `json:"us"`    // a repetition, operands resident, results not read: the median, or with another device beside it the least
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
	Serial  bool          // kernels run one after the other, as where each reads what the one before has made
	Cases   []Case        // the list
	Budget  time.Duration // after which no case begins; 0 is none
	Results io.Writer     // gets a JSON line for each case; nil is nobody
}

// ErrFailed reports that cases failed.
var ErrFailed = errors.New("cases failed")

// Run measures cases and prints a table, also of those before it was cancelled. It returns
// ErrFailed after cases that failed.
func Run(ctx context.Context, out io.Writer, cfg Config) error {
	began := time.Now()
	names := []string{cfg.Device}
	if cfg.Against != "" {
		names = append(names, cfg.Against)
	}
	var machines []*machine
	for _, name := range names {
		m, err := open(name, cfg.Serial)
		if err != nil {
			return err
		}
		defer m.close()
		if err := m.calibrate(out); err != nil {
			return err
		}
		machines = append(machines, m)
	}
	results, err := measureAll(ctx, cfg, machines, began)
	if err != nil {
		return err
	}
	if left := len(cfg.Cases) - len(results[0]); left > 0 {
		fmt.Fprintf(out, "%d of %d cases left\n", left, len(cfg.Cases))
	}
	for _, m := range machines {
		m.printProducts(out)
	}
	if len(machines) > 1 {
		err = compare(out, results[0], results[1], machines[1].String())
	} else {
		err = report(out, results[0])
	}
	return errors.Join(ctx.Err(), err)
}

// block is how many cases are measured together: their results are written after that.
const block = 25

// measureAll measures each case on each machine, until the budget is spent.
func measureAll(ctx context.Context, cfg Config, machines []*machine, began time.Time) ([][]Result, error) {
	results := make([][]Result, len(machines))
	goesOn := func() bool { return ctx.Err() == nil && (cfg.Budget <= 0 || time.Since(began) < cfg.Budget) }
	for cases := range slices.Chunk(cfg.Cases, block) {
		lists := [][]Result{nil}
		if len(machines) == 1 {
			lists[0] = machines[0].measure(cases, goesOn)
		} else {
			lists = measureInTurns(machines, cases, goesOn)
		}
		for k, list := range lists {
			results[k] = append(results[k], list...)
		}
		for i := range lists[0] {
			if cfg.Results == nil {
				break
			}
			if err := json.NewEncoder(cfg.Results).Encode(&lists[0][i]); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}
