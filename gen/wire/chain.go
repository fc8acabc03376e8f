package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// Chain is a request for leapfrog steps by a shader of the client.
type Chain struct {
	Shader  string // its key
	N       int    // instances
	K       int    // steps
	D       int    // parameters
	NObs    int    // numbers of data
	Step    float64
	Type    ops.DType // of all numbers: f32 or f64
	Batch   bool      // the shader is told the number of instances also where it is 1
	Correct bool      // log densities that lag by a row are shifted
	Q, P    []byte
	Extras  []byte // data, then the diagonal of the inverse mass matrix
}

// decodeChain reads {chain, Options}.
func decodeChain(t etf.Term) (*Chain, error) {
	c := &Chain{N: 1, Type: ops.F64, Correct: true, Step: math.NaN()}
	if err := eachOption("chain", t, c.set); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *Chain) set(name string, v etf.Term) (err error) {
	switch name {
	case "shader":
		c.Shader, err = programKey(v)
	case "n":
		c.N, err = between(v, 1, 65535)
	case "k":
		c.K, err = between(v, 1, 1<<20)
	case "d":
		c.D, err = between(v, 1, 256)
	case "n_obs":
		c.NObs, err = between(v, 0, 1<<28)
	case "eps":
		c.Step, err = float(v)
	case "type":
		c.Type, err = realType(v)
	case "batch":
		err = flag(v, &c.Batch)
	case "correct":
		err = flag(v, &c.Correct)
	case "q":
		c.Q, err = bytesOf(v)
	case "p":
		c.P, err = bytesOf(v)
	case "extras":
		c.Extras, err = bytesOf(v)
	default:
		err = bad("is not an option of chain; gen/README.md lists them")
	}
	return err
}

// check refuses a request that lacks options, or data that the shader would read.
func (c *Chain) check() error {
	if c.Shader == "" || c.K == 0 || c.D == 0 {
		return bad("chain needs the options shader, k and d")
	}
	if math.IsNaN(c.Step) || math.IsInf(c.Step, 0) || c.Step == 0 {
		return bad("chain needs the option eps, a number that is not 0")
	}
	for _, x := range []struct {
		name string
		data []byte
		want int
	}{{"q", c.Q, c.D}, {"p", c.P, c.D}, {"extras", c.Extras, c.NObs + c.D}} {
		if want := c.N * x.want * c.Type.Size(); len(x.data) != want {
			return &Fault{BadArgument, fmt.Errorf("%s has %d bytes, must have %d", x.name, len(x.data), want)}
		}
	}
	for _, x := range [][]byte{c.Q, c.P, c.Extras} {
		if !finite(x, c.Type.Size()) {
			return &Fault{BadArgument, fmt.Errorf("q, p and extras must be finite numbers")}
		}
	}
	return nil
}

// finite reports whether floats of 4 or 8 bytes are all finite.
func finite(b []byte, width int) bool {
	for ; len(b) > 0; b = b[width:] {
		if width == 8 && binary.LittleEndian.Uint64(b)>>52&0x7ff == 0x7ff || width == 4 && binary.LittleEndian.Uint32(b)>>23&0xff == 0xff {
			return false
		}
	}
	return true
}

// bytesOf reads a binary into Go's memory.
func bytesOf(t etf.Term) ([]byte, error) {
	got, err := binaries(etf.List{t})
	if err != nil {
		return nil, bad("must be a binary")
	}
	return got[0], nil
}
