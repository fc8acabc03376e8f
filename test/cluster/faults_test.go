package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// eachDevice runs a test on the host and on a Vulkan device.
func eachDevice(t *testing.T, test func(t *testing.T, n *node, b *beam), args ...string) {
	for _, d := range devices(t) {
		t.Run(d.name, func(t *testing.T) {
			n := startNode(t, append(append([]string{}, d.args...), args...)...)
			b := startBEAM(t)
			b.connect(n)
			test(t, n, b)
			silent(t, n)
		})
	}
}

// TestCallerKilled kills a process between two of its instructions.
func TestCallerKilled(t *testing.T) {
	eachDevice(t, func(t *testing.T, n *node, b *beam) {
		b.want("ok", "{nxvk_load,killed_midway,[%s]}", n.device())
		b.want("ok", "{nxvk_load,falls_to,[%s,0]}", n.atom())
	})
}

// TestManyProcesses has 10,000 processes make three tensors each and exit.
func TestManyProcesses(t *testing.T) {
	eachDevice(t, func(t *testing.T, n *node, b *beam) {
		t.Logf("%s ms", b.call("{nxvk_load,many,[%s,10000]}", n.device()))
		b.want("ok", "{nxvk_load,falls_to,[%s,0]}", n.atom())
	})
}

// silence is how long a peer must have said nothing before it is given up, at the
// earliest: three quarters of net_ticktime. What takes less was noticed otherwise,
// which is at once, however busy the machine is.
const silence = 45 * time.Second

// TestBEAMKilled kills a BEAM; its sessions end at once, others' stay.
func TestBEAMKilled(t *testing.T) {
	n := startNode(t, "--device", "host")
	stays, dies := startBEAM(t), startBEAM(t)
	stays.connect(n)
	dies.connect(n)
	for _, b := range []*beam{stays, dies} {
		b.want("ok", "{nxvk_load,hold,[%s,5,100000]}", n.device())
	}
	dies.kill()
	began := time.Now()
	stays.want("ok", "{nxvk_load,gone,[%s,'%s']}", n.atom(), dies.name)
	if took := time.Since(began); took >= silence {
		t.Errorf("the sessions of a dead BEAM lived on for %v", took)
	}
	stays.want("ok", "{nxvk_load,falls_to,[%s,5]}", n.atom())
}

// TestNodeKilled kills the node: monitors fire at once, and the next
// run is known to be another one.
func TestNodeKilled(t *testing.T) {
	n := startNode(t, "--device", "host")
	b := startBEAM(t)
	b.connect(n)
	b.want("ok", "{nxvk_load,hold,[%s,1,1000]}", n.device())
	before := b.call("{nxvk_load,incarnation,[%s]}", n.device())
	b.want("ok", "{nxvk_load,arm,[%s]}", n.device())
	n.kill()
	began := time.Now()
	b.want("noconnection", "{nxvk_load,fired,[]}")
	if took := time.Since(began); took >= silence {
		t.Errorf("the monitor fired after %v", took)
	}
	n.start()
	b.want("ok", "{nxvk_load,reconnect,[%s]}", n.atom())
	if after := b.call("{nxvk_load,incarnation,[%s]}", n.device()); after == before {
		t.Errorf("the restarted server has incarnation %s, as the killed one", after)
	}
	b.want("stale", "{nxvk_load,at,[%s,%s,{download,1}]}", n.device(), before)
	b.want("ok", "{nxvk_load,falls_to,[%s,0]}", n.atom())
	b.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
}

// TestBEAMKilledAtWork kills a BEAM whose work on the node has no end: the work
// ends with it.
func TestBEAMKilledAtWork(t *testing.T) {
	for _, work := range []string{"loop", "chains"} {
		t.Run(work, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, n *node, stays *beam) {
				stays.want("ok", "{nxvk_load,hold,[%s,5,100000]}", n.device())
				dies := startBEAM(t)
				dies.connect(n)
				dies.want("ok", "{nxvk_load,busy,[%s,%s]}", work, n.device())
				dies.kill()
				stays.want("ok", "{nxvk_load,gone,[%s,'%s']}", n.atom(), dies.name)
				stays.want("ok", "{nxvk_load,idle,[%s]}", n.atom())
				stays.want("ok", "{nxvk_load,falls_to,[%s,5]}", n.atom())
			})
		})
	}
}

// TestNodeKilledAtWork kills the node while it loops or draws for a client, who
// knows at once and can go on with the next run.
func TestNodeKilledAtWork(t *testing.T) {
	for _, work := range []string{"loop", "chains"} {
		t.Run(work, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, n *node, b *beam) {
				b.want("ok", "{nxvk_load,busy,[%s,%s]}", work, n.device())
				n.kill()
				began := time.Now()
				b.want("noconnection", "{nxvk_load,told,[]}")
				if took := time.Since(began); took >= silence {
					t.Errorf("the client knew after %v", took)
				}
				n.start()
				b.want("ok", "{nxvk_load,reconnect,[%s]}", n.atom())
				b.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
			})
		})
	}
}

// TestBEAMStopped stops a BEAM for longer than net_ticktime. The node takes it
// for dead, others are served meanwhile, and it can come back.
func TestBEAMStopped(t *testing.T) {
	n := startNode(t, "--device", "host", "--net-ticktime", "2s")
	stopped, works := startBEAM(t), startBEAM(t, "-kernel", "net_ticktime", "2")
	stopped.connect(n)
	works.connect(n)
	stopped.want("ok", "{nxvk_load,hold,[%s,2,1000]}", n.device())
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	works.call("{nxvk_load,work,[%s,500]}", n.device())
	works.want("ok", "{nxvk_load,gone,[%s,'%s']}", n.atom(), stopped.name)
	t.Logf("the stopped BEAM was down after %v", time.Since(began))
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stopped.want("ok", "{nxvk_load,reconnect,[%s]}", n.atom())
	stopped.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
}

// TestRandomBytes sends noise to the port while a client works.
func TestRandomBytes(t *testing.T) {
	n := startNode(t, "--device", "host", "--log-level", "error")
	b := startBEAM(t)
	b.connect(n)
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for i := range 4 {
		senders.Go(func() { noise(stop, n.port, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	count := b.call("{nxvk_load,work,[%s,2000]}", n.device())
	close(stop)
	senders.Wait()
	t.Logf("%s rounds of work meanwhile", count)
	b.want("ok", "{nxvk_suite,run,[echo,%s]}", n.device())
}

// noise connects again and again and sends bytes that mean nothing, at times
// behind the beginning of a handshake.
func noise(stop <-chan struct{}, port int, r *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return
		}
		junk := make([]byte, r.IntN(2000))
		for i := range junk {
			junk[i] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 {
			// The length and the tag of a send_name.
			junk = append([]byte{0, byte(len(junk)), 'N'}, junk...)
		}
		c.SetDeadline(time.Now().Add(200 * time.Millisecond))
		c.Write(junk)
		c.Read(junk[:min(1, len(junk))])
		c.Close()
	}
}

// TestTwoClients has two BEAMs work at once.
func TestTwoClients(t *testing.T) {
	eachDevice(t, func(t *testing.T, n *node, a *beam) {
		b := startBEAM(t)
		b.connect(n)
		var both sync.WaitGroup
		for _, client := range []*beam{a, b} {
			both.Go(func() {
				count, err := client.ask(patience, "{nxvk_load,work,[%s,1500]}", n.device())
				if err != nil {
					t.Error(err)
				}
				t.Logf("%s: %s rounds", client.name, count)
			})
		}
		both.Wait()
	})
}

// smallMemory has a node take little memory from its device.
var smallMemory = []string{"--memory-limit", fmt.Sprint(256 << 20)}

// TestOutOfMemory exhausts what the node may take from a device.
func TestOutOfMemory(t *testing.T) {
	eachDevice(t, func(t *testing.T, n *node, b *beam) {
		other := startBEAM(t)
		other.connect(n)
		other.want("ok", "{nxvk_load,hold,[%s,1,1000]}", n.device())
		got := b.call("{nxvk_load,starve,[%s,%d]}", n.device(), 8<<20)
		if !strings.HasPrefix(got, "{out_of_memory,") || !strings.HasSuffix(got, ",true}") {
			t.Errorf("starving: got %s, want {out_of_memory, _, true}", got)
		}
		other.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
		other.want("ok", "{nxvk_load,falls_to,[%s,1]}", n.atom())
	}, smallMemory...)
}

// TestPressure asks who holds memory to free what it can spare before anybody
// is refused.
func TestPressure(t *testing.T) {
	eachDevice(t, func(t *testing.T, n *node, needs *beam) {
		hoards := startBEAM(t)
		hoards.connect(n)
		hoards.want("ok", "{nxvk_load,hoard,[%s,2]}", n.device())
		needs.want("3", "{nxvk_load,fill,[%s,3]}", n.device())
		hoards.want("0", "{nxvk_load,buffers_of,[%s,'%s']}", n.atom(), hoards.name)
	}, smallMemory...)
}

// TestWrongCookie is refused, and the refusal is logged.
func TestWrongCookie(t *testing.T) {
	n := startNode(t, "--device", "host")
	stranger := startBEAM(t, "-setcookie", "wrong")
	if got := stranger.call("{nxvk_client,connect,[%s]}", n.atom()); got == "ok" {
		t.Fatal("a BEAM with another cookie could connect")
	}
	_, _, err := n.log.wait(0, func(s string) bool { return strings.Contains(s, "cookie") }, patience)
	if err != nil {
		t.Errorf("the refusal is not logged: %v\n%s", err, n.log.text())
	}
	friend := startBEAM(t)
	friend.connect(n)
}

// TestSessionLimit holds every session of a node to its limit, whatever a
// client asks for.
func TestSessionLimit(t *testing.T) {
	n := startNode(t, "--device", "host", "--session-limit", "1000000")
	greedy, modest := startBEAM(t), startBEAM(t)
	greedy.connect(n)
	modest.connect(n)
	if got := greedy.call("{nxvk_load,starve,[%s,150000]}", n.device()); !strings.HasPrefix(got, "{limit,") {
		t.Errorf("starving: got %s, want {limit, …}", got)
	}
	modest.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
}
