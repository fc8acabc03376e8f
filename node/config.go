package node

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
)

// DefaultTicktime is after how long without a byte a peer is down, as in
// Erlang's net_ticktime.
const DefaultTicktime = 60 * time.Second

// Errors of starting, by what is to be done about them.
var (
	ErrNoDevice = errors.New("no such device")
	ErrNetwork  = errors.New("cannot join the network")
	ErrCookie   = errors.New("no cookie")
)

// Config is what a node is started with.
type Config struct {
	Name         string        // NAME@HOST
	Cookie       string        // of the cluster; CookieFile where empty
	CookieFile   string        // ~/.erlang.cookie where empty, which is made where there is none
	Listen       string        // address
	Port         int           // 0 picks one
	Device       string        // all, host, or one by index, name or UUID
	Connect      string        // nodes to connect to, separated by commas
	NetTicktime  time.Duration // a peer is down after so long without a byte
	TLS          TLS           // with a certificate the node speaks inet_tls
	Deadline     time.Duration // of an instruction or a run; 0 is none
	SessionLimit int64         // bytes a session may hold on a device; 0 is no limit
	MemoryLimit  uint64        // bytes taken from each device at most; 0 is all it has, and of the host's memory a share
	KeepMemory   bool          // memory that nothing uses is kept for reuse; else it goes back after some seconds
	HostLimit    int           // see exec.Config
	NoWarmUp     bool          // the host carries out no kernels in the stead of a processor
	// DisablePasses names compiler passes and fusion rules, separated by commas; "all" runs
	// programs one instruction at a time.
	DisablePasses string
	AllowShaders  bool   // clients may bring SPIR-V of their own
	CacheDir      string // of pipelines and kernels; empty is the user's, - is none
	Validation    bool   // load the Vulkan validation layer
	Metrics       string // address of the metrics server; empty is none
	Log           zerolog.Logger

	// Ready is called once when the node serves.
	Ready func(name string, port int)
}

// TLS names the files of inet_tls distribution.
type TLS struct {
	Cert string // PEM certificate
	Key  string // PEM key
	CA   string // PEM certificates that peers' must be signed by; empty trusts every one
	// Insecure allows to listen beyond this machine without a CA.
	Insecure bool
}

// cacheDir is where compiled pipelines and kernels are kept, empty for nowhere.
func (c *Config) cacheDir() string {
	switch c.CacheDir {
	case "-":
		return ""
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(dir, "nxvk")
	}
	return c.CacheDir
}
