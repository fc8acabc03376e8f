package node

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
)

// DefaultTicktime is the time without a byte after which a peer counts as down, as in
// Erlang's net_ticktime.
const DefaultTicktime = 60 * time.Second

// Errors of starting, by exit code.
var (
	ErrNoDevice = errors.New("no such device")
	ErrNetwork  = errors.New("cannot join the network")
	ErrCookie   = errors.New("no cookie")
)

// Config has the settings of a node.
type Config struct {
	Name       string // NAME@HOST
	Cookie     string // of the cluster; if empty, CookieFile has it
	CookieFile string // if empty, ~/.erlang.cookie, which is created if it does not exist
	Listen     string // address
	Port       int    // 0 picks a free one
	// Devices are the devices to serve: all, which is the default, or host, or devices by index, name or
	// UUID. There is a device server for each entry; a device that is named twice is opened twice.
	Devices      []string
	Connect      string        // nodes to connect to, separated by commas
	NetTicktime  time.Duration // without a byte, after which a peer counts as down
	TLS          TLS           // with a certificate the node speaks inet_tls
	Deadline     time.Duration // of an instruction or a run; 0 is none
	SessionLimit int64         // bytes a session may hold on a device; 0 is no limit
	MemoryLimit  uint64        // maximum bytes per device; 0 is all GPU memory, or hostShare of RAM for the host device
	KeepMemory   bool          // keep unused memory for reuse instead of returning it after some seconds
	HostLimit    int           // see exec.Config
	NoWarmUp     bool          // compile kernels at first use; else a processor's are interpreted until compiling pays
	// DisablePasses names compiler passes and fusion rules, separated by commas; "all" runs
	// programs one instruction at a time.
	DisablePasses string
	// Matrix is MatrixHardware, the default, or MatrixOrdered.
	Matrix       string
	AllowShaders bool   // clients may run SPIR-V of their own
	AllowClose   bool   // every node may close the sessions of every other
	CacheDir     string // of compiled kernels; empty is the user's, - is none
	Validation   bool   // load the Vulkan validation layer
	Metrics      string // address of the metrics server; empty is none
	Log          zerolog.Logger

	// Ready is called once, when the node serves.
	Ready func(name string, port int)
}

// How products of bf16, f16, s8 and u8 are summed.
const (
	MatrixHardware = "hardware" // by matrix hardware, where the device has it
	MatrixOrdered  = "ordered"  // in f32, or integers of 32 bits, in the order of k
)

// TLS names the files of inet_tls distribution.
type TLS struct {
	Cert string // PEM certificate
	Key  string // PEM key
	CA   string // PEM certificates of the authorities; empty trusts every certificate
	// Insecure allows listening beyond this machine without a CA.
	Insecure bool
}

// cacheDir returns the folder for compiled kernels; empty is none.
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
