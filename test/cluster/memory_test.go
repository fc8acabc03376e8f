package cluster

import (
	"strconv"
	"testing"
)

const mib = 1 << 20

// TestStreamMemory sends a million small instructions in batches of 10,000.
// Memory stays flat once the collectors of both sides have found their pace.
func TestStreamMemory(t *testing.T) {
	batches := 100
	if testing.Short() {
		batches = 10
	}
	eachDevice(t, func(t *testing.T, n *node, b *beam) {
		b.call("{nxvk_load,stream,[%s,20,10000]}", n.device())
		before, client := n.resident(), resident(t, b.cmd.Process.Pid)
		micros := number(t, b.call("{nxvk_load,stream,[%s,%d,10000]}", n.device(), batches))
		after, clientAfter := n.resident(), resident(t, b.cmd.Process.Pid)
		t.Logf("%.0f instructions/s; node %d MiB before, %d after; client %d and %d", float64(batches*10000)/(micros/1e6),
			before/mib, after/mib, client/mib, clientAfter/mib)
		if after > before+before/4+32*mib {
			t.Errorf("the node grew from %d to %d MiB", before/mib, after/mib)
		}
		if clientAfter > client+client/4+16*mib {
			t.Errorf("the client grew from %d to %d MiB", client/mib, clientAfter/mib)
		}
		b.want("ok", "{nxvk_load,falls_to,[%s,0]}", n.atom())
	})
}

// poolBytes is what the node may keep for the next large binaries.
const poolBytes = 256 * mib

// TestUploadMemory uploads and frees 64 MB a hundred times. Memory is back
// where it began, but for the pool.
func TestUploadMemory(t *testing.T) {
	count := 100
	if testing.Short() {
		count = 10
	}
	eachDevice(t, func(t *testing.T, n *node, b *beam) {
		before := n.resident()
		micros := number(t, b.call("{nxvk_load,uploads,[%s,%d,%d]}", n.device(), count, 64*mib))
		after := n.resident()
		t.Logf("%.2f GB/s; %d MiB before, %d after", float64(count*64*mib)/(micros*1e3), before/mib, after/mib)
		if limit := before + before/10 + poolBytes; after > limit {
			t.Errorf("the node grew from %d to %d MiB, at most %d were due", before/mib, after/mib, limit/mib)
		}
	})
}

// TestLargeBinary sends one of a GiB there and back.
func TestLargeBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("a binary of 1 GiB takes 4 GiB of memory, and -short is set")
	}
	n := startNode(t, "--device", "host")
	b := startBEAM(t)
	b.connect(n)
	answer, err := b.ask(patience, "{nxvk_load,echo,[%s,%d]}", n.atom(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("1 GiB there and back in %.1f s", number(t, answer)/1e6)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
