package cluster

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTerminate sends SIGTERM: the node drains and ends with 0.
func TestTerminate(t *testing.T) {
	n := startNode(t, "--device", "host")
	b := startBEAM(t)
	b.connect(n)
	b.want("ok", "{nxvk_load,hold,[%s,3,1000]}", n.device())
	b.want("ok", "{nxvk_load,arm,[%s]}", n.device())
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := n.exitCode(patience); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, n.log.text())
	}
	if reason := b.call("{nxvk_load,fired,[]}"); reason != "shutdown" {
		t.Errorf("the monitor's reason is %s", reason)
	}
}

// TestExitOnEOF ends with its launcher.
func TestExitOnEOF(t *testing.T) {
	n := startNode(t, "--device", "host", "--exit-on-eof")
	n.stdin.Close()
	if code := n.exitCode(patience); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestExitCodes tells failures apart.
func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"version", []string{"version"}, 0},
		{"help", []string{"help"}, 0},
		{"help of a command", []string{"run", "--help"}, 0},
		{"no command", nil, 2},
		{"unknown command", []string{"fly"}, 2},
		{"unknown flag", []string{"run", "--fly"}, 2},
		{"extra word", []string{"run", "fly"}, 2},
		{"flags in the wrong place", []string{"bench", "ops", "-only", "add"}, 2},
		{"bad log level", []string{"run", "--log-level", "loud"}, 2},
		{"no such rule", []string{"run", "--disable-passes", "frob"}, 2},
		{"name without a host", []string{"run", "--name", "nxvk"}, 2},
		{"negative limit", []string{"run", "--session-limit", "-1"}, 2},
		{"no such device", []string{"run", "--cookie", "x", "--device", "no such device"}, 3},
		{"port taken", []string{"run", "--cookie", "x", "--device", "host", "--port", port}, 4},
		{"metrics port taken", []string{"run", "--cookie", "x", "--device", "host", "--metrics", "127.0.0.1:" + port}, 4},
		{"no cookie", []string{"run", "--cookie-file", "/nonexistent/cookie", "--device", "host"}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(nodeBinary, test.args...)
			cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+epmdPort)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.want {
				t.Errorf("exit code %d, want %d\n%s", code, test.want, out)
			}
		})
	}
}

// TestNameTaken refuses the name of another node, but not that of one that is
// going away.
func TestNameTaken(t *testing.T) {
	first := startNode(t, "--device", "host")
	args := []string{"run", "--name", first.name, "--cookie", cookie, "--device", "host"}
	cmd := exec.Command(nodeBinary, args...)
	cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+epmdPort)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(out), "name is taken") {
		t.Errorf("exit code %d, want 4\n%s", code, out)
	}
	second := &node{t: t, name: first.name, args: first.args}
	time.AfterFunc(500*time.Millisecond, first.kill)
	second.start()
	t.Cleanup(second.kill)
	startBEAM(t).want("ok", "{nxvk_load,reconnect,[%s]}", second.atom())
}

// TestMetrics reads what Prometheus would.
func TestMetrics(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	n := startNode(t, "--device", "host", "--metrics", "127.0.0.1:"+port)
	b := startBEAM(t)
	b.connect(n)
	b.want("ok", "{nxvk_load,hold,[%s,3,1000]}", n.device())
	get := func(path string) (int, string) {
		answer, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != http.StatusOK {
			t.Errorf("%s gives %d %s", path, code, body)
		}
	}
	_, body := get("/metrics")
	for _, want := range []string{
		"# TYPE nxvk_buffers gauge", `nxvk_buffers{device="nxvk_0"} 3`, `nxvk_session_bytes{device="nxvk_0"} 3000`,
		"# TYPE nxvk_instructions_total counter", "nxvk_sessions", "nxvk_dispatches_total", "nxvk_fallbacks_total",
		"# TYPE nxvk_submit_latency_seconds histogram", "# TYPE nxvk_call_seconds histogram", "# TYPE nxvk_queue_wait_seconds histogram",
		"# TYPE nxvk_device_wait_seconds histogram", "# TYPE nxvk_device_run_seconds histogram",
		`nxvk_session_memory_bytes{device="nxvk_0",label="",session="<`, `nxvk_device_busy_seconds{device="nxvk_0"}`,
		`nxvk_device_up{device="nxvk_0"} 1`, "nxvk_build_info{", "go_goroutines",
		"nxvk_wire_received_bytes_total", "nxvk_connections 1", "nxvk_handshakes_failed_total",
		`nxvk_handshake_failures_total{reason="cookie"} 0`, `nxvk_connections_ended_total{reason="slow"} 0`,
		`nxvk_connection_queued_bytes{peer="` + b.name + `"}`, `nxvk_connection_assembly_bytes{peer="` + b.name + `"}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	if runtime.GOOS == "linux" {
		for _, want := range []string{"process_open_fds", "process_resident_memory_bytes"} {
			if !strings.Contains(body, want) {
				t.Errorf("the metrics lack %q", want)
			}
		}
	}
	if t.Failed() {
		t.Logf("%s", body)
	}
}

// TestOwnPortMapper starts a node where no epmd runs: it serves one itself, by
// which a BEAM finds it.
func TestOwnPortMapper(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, name: uniqueName("nxvk"), args: []string{"--device", "host"}}
	n.spawn(port)
	t.Cleanup(n.kill)
	if _, _, err := n.out.wait(0, ready.MatchString, patience); err != nil {
		t.Fatalf("%v\n%s", err, n.log.text())
	}
	t.Setenv("ERL_EPMD_PORT", port)
	saved := epmdPort
	epmdPort = port
	defer func() { epmdPort = saved }()
	b := startBEAM(t)
	b.connect(n)
	b.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
}

// TestConnect has the node join a BEAM that knows nothing of it.
func TestConnect(t *testing.T) {
	b := startBEAM(t)
	n := startNode(t, "--device", "host", "--connect", b.name)
	b.want("["+n.atom()+"]", "{erlang,nodes,[hidden]}")
	b.want("[]", "{erlang,nodes,[]}")
	b.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())

	lost := &node{t: t, name: uniqueName("nxvk"), args: []string{"--device", "host", "--connect", uniqueName("nobody")}}
	lost.spawn(epmdPort)
	if code := lost.exitCode(patience); code != 4 {
		t.Errorf("connecting to nobody: exit code %d, want 4\n%s", code, lost.log.text())
	}
}

// TestUnregisteredNames drops what is sent to names that nobody has here, and
// answers a ping.
func TestUnregisteredNames(t *testing.T) {
	n := startNode(t, "--device", "host")
	b := startBEAM(t)
	b.want("pong", "{net_adm,ping,[%s]}", n.atom())
	for _, name := range []string{"pg", "global", "rex", "'Elixir.Nx.Serving.PG'", "nobody"} {
		b.want("hello", "{erlang,send,[{%s,%s},hello]}", name, n.atom())
	}
	b.want("[]", "{nxvk_load,refused,[%s]}", n.atom())
	b.want("ok", "{nxvk_suite,run,[long_chain,%s]}", n.device())
	silent(t, n)
}
