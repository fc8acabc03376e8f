package bench

import (
	"os"
	"os/exec"
	"testing"
)

// TestRun prints the comparison. It says nothing about which side wins: the
// machines that tests run on are busy with other things.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("escript"); err != nil {
		t.Skip("SKIP(erlang): no escript on this machine")
	}
	if testing.Short() || os.Getenv("NXVK_BENCH") == "" {
		t.Skip("SKIP(bench): set NXVK_BENCH to run it")
	}
	rows, err := Run(t.Context())
	for _, r := range rows {
		t.Logf("%-16s BEAM %9.3f  ours %9.3f %s  better: %v", r.What, r.BEAM, r.Ours, r.Unit, r.Better())
	}
	if err != nil {
		t.Fatal(err)
	}
}
