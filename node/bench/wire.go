package bench

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	wire "nxvk/node/dist/bench"
)

// Wire measures the distribution against BEAM to BEAM, on this machine in this
// run, and prints a table.
func Wire(ctx context.Context) error {
	rows, err := wire.Run(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BEAM to\tBEAM\tnxvk\t\tratio")
	for _, r := range rows {
		ratio := r.Ours / r.BEAM
		if r.Unit == "us" {
			ratio = r.BEAM / r.Ours
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%s\t%.2f\n", r.What, r.BEAM, r.Ours, r.Unit, ratio)
	}
	return w.Flush()
}
