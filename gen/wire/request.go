package wire

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// Verb is the name of a request to a device server, an atom of the protocol.
type Verb string

// The requests to a device server.
const (
	Open          Verb = "open"
	Download      Verb = "download"
	Describe      Verb = "describe"
	Sync          Verb = "sync"
	Barrier       Verb = "barrier"
	Close         Verb = "close"
	CloseOf       Verb = "close_of" // {close, Pid}
	StartSample   Verb = "sample"
	Stop          Verb = "stop"
	ChainSteps    Verb = "chain"
	Shader        Verb = "shader"
	LeapfrogSteps Verb = "leapfrog"
	Summarize     Verb = "summary"
	Explain       Verb = "explain"
	Shares        Verb = "shares"
	Memory        Verb = "memory"
	Info          Verb = "info"
)

// The ways of Explain besides that of the device.
const (
	Profile etf.Atom = "profile" // measured, too
	GPU     etf.Atom = "gpu"     // as a GPU would carry it out
)

// Request is a decoded call.
type Request struct {
	Verb        Verb
	Incarnation uint64  // the run of the server that the client means; 0 is any
	First       *Stream // instructions that come before the request, or nil
	Owner       etf.Pid // of the session that CloseOf ends
	ID          ops.ID
	Offset      int // elements
	Count       int // elements
	Options     Options
	Sample      *Sample
	Run         int // the run that Stop ends
	Chain       *Chain
	Leapfrog    *Leapfrog
	Summary     *Summary
	Key         string   // of the program of Explain and Shares, or of the Shader
	Way         etf.Atom // of Explain: profile, gpu, or nothing
	Context     *Context // the trace context of a Download, or nil
}

// Options are the options of a session.
type Options struct {
	Limit       int64         // bytes; math.MaxInt64 is no limit
	LimitSet    bool          // the client gives a Limit
	Label       string        // for reports
	Digest      string        // of the client's op table; empty where it gives none
	Sweep       bool          // the client answers requests to sweep
	Flow        bool          // the client wants to know how far it may send ahead
	Deadline    time.Duration // of an instruction or a run; 0 is none
	DeadlineSet bool          // the client gives a Deadline
	Mesh        *Mesh         // the mesh of the session; nil if the client names none
	Weight      int           // share beside other sessions, 1 to MaxWeight; 0 if the client gives none
}

// Mesh is a place in a mesh.
type Mesh struct {
	ID   string
	Rank int
	Size int
	// Nodes has the node of each rank; nil where all are of the node that is asked.
	Nodes []string
}

// MaxRanks bounds the size of a mesh.
const MaxRanks = 1024

// meshOf reads {Id, Rank, Size} and {Id, Rank, Nodes}.
func meshOf(t etf.Term) (*Mesh, bool) {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 3 {
		return nil, false
	}
	if list, ok := tuple[2].(etf.List); ok {
		nodes := make([]string, len(list))
		for i, n := range list {
			a, ok := n.(etf.Atom)
			if !ok || a == "" {
				return nil, false
			}
			nodes[i] = string(a)
		}
		m, ok := meshOf(etf.Tuple{tuple[0], tuple[1], int64(len(list))})
		if ok {
			m.Nodes = nodes
		}
		return m, ok
	}
	id, isBinary := tuple[0].([]byte)
	rank, err := integer(tuple[1])
	size, err2 := integer(tuple[2])
	ok = isBinary && len(id) > 0 && len(id) <= MaxKey && err == nil && err2 == nil && rank >= 0 && rank < size && size <= MaxRanks
	return &Mesh{ID: string(id), Rank: rank, Size: size}, ok
}

// Weights of sessions.
const (
	DefaultWeight = 10 // of a session that gives none
	MaxWeight     = 100
)

// DecodeRequest reads a call to a device server. Where there is an error, First
// has the instructions that could be read.
func DecodeRequest(t etf.Term) (Request, error) {
	switch t {
	case etf.Atom(Sync), etf.Atom(Barrier), etf.Atom(Close), etf.Atom(Memory), etf.Atom(Info):
		return Request{Verb: Verb(t.(etf.Atom))}, nil
	case etf.Atom("turn"): // the former name of barrier
		return Request{Verb: Barrier}, nil
	}
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) < 2 {
		return Request{}, bad("not a request of a device server; gen/README.md lists them")
	}
	name, _ := tuple[0].(etf.Atom)
	if len(tuple) == 2 {
		if decode, ok := ofOne[name]; ok {
			return decode(tuple[1])
		}
	}
	switch {
	case name == "at" && len(tuple) == 3:
		return decodeAt(tuple)
	case name == "then" && len(tuple) == 3:
		return decodeThen(tuple)
	case name == "traced" && len(tuple) == 3:
		return decodeTraced(tuple)
	case name == etf.Atom(Explain) && (len(tuple) == 2 || len(tuple) == 3 && (tuple[2] == Profile || tuple[2] == GPU)):
		key, err := programKey(tuple[1])
		r := Request{Verb: Explain, Key: key}
		if len(tuple) == 3 {
			r.Way = tuple[2].(etf.Atom)
		}
		return r, err
	case name == etf.Atom(Download) && (len(tuple) == 2 || len(tuple) == 4):
		return decodeDownload(tuple)
	}
	return Request{}, bad("not a request of a device server; gen/README.md lists them")
}

// ofOne decodes the requests {Name, Argument}.
var ofOne = map[etf.Atom]func(etf.Term) (Request, error){
	etf.Atom(Open): func(t etf.Term) (Request, error) {
		o, err := decodeOptions(t)
		return Request{Verb: Open, Options: o}, err
	},
	etf.Atom(StartSample): func(t etf.Term) (Request, error) {
		s, err := decodeSample(t)
		return Request{Verb: StartSample, Sample: s}, err
	},
	etf.Atom(ChainSteps): func(t etf.Term) (Request, error) {
		c, err := decodeChain(t)
		return Request{Verb: ChainSteps, Chain: c}, err
	},
	etf.Atom(Shader): func(t etf.Term) (Request, error) {
		key, err := programKey(t)
		return Request{Verb: Shader, Key: key}, err
	},
	etf.Atom(LeapfrogSteps): func(t etf.Term) (Request, error) {
		l, err := decodeLeapfrog(t)
		return Request{Verb: LeapfrogSteps, Leapfrog: l}, err
	},
	etf.Atom(Summarize): func(t etf.Term) (Request, error) {
		s, err := decodeSummary(t)
		return Request{Verb: Summarize, Summary: s}, err
	},
	etf.Atom(Stop): func(t etf.Term) (Request, error) {
		n, err := integer(t)
		return Request{Verb: Stop, Run: n}, err
	},
	etf.Atom(Shares): func(t etf.Term) (Request, error) {
		key, err := programKey(t)
		return Request{Verb: Shares, Key: key}, err
	},
	etf.Atom(Describe): func(t etf.Term) (Request, error) {
		id, err := identifier(t)
		return Request{Verb: Describe, ID: id}, err
	},
	etf.Atom(Close): func(t etf.Term) (Request, error) {
		pid, ok := t.(etf.Pid)
		if !ok {
			return Request{}, bad("{close, Pid} takes the pid of a session, which the request sessions of nxvk lists")
		}
		return Request{Verb: CloseOf, Owner: pid}, nil
	},
}

func decodeAt(tuple etf.Tuple) (Request, error) {
	n, err := integer(tuple[1])
	if err != nil || isRequest(tuple[2], "at") {
		return Request{}, bad("{at, Incarnation, Request} takes an integer and another request")
	}
	r, err := DecodeRequest(tuple[2])
	r.Incarnation = uint64(n)
	if r.First != nil {
		r.First.Incarnation = uint64(n)
	}
	return r, err
}

func decodeThen(tuple etf.Tuple) (Request, error) {
	list, ok := tuple[1].(etf.List)
	if !ok || isRequest(tuple[2], "at") || isRequest(tuple[2], "then") {
		return Request{}, bad("{then, Instructions, Request} takes a list and a request without at or then")
	}
	r, err := DecodeRequest(tuple[2])
	r.First = &Stream{Instrs: decodeInstrs(list)}
	return r, err
}

func decodeTraced(tuple etf.Tuple) (Request, error) {
	c, err := decodeContext(tuple[1])
	if err != nil {
		return Request{}, err
	}
	if !isRequest(tuple[2], etf.Atom(Download)) {
		return Request{}, bad("{traced, Context, Request} takes a download")
	}
	r, err := DecodeRequest(tuple[2])
	r.Context = c
	return r, err
}

// isRequest reports whether t is a tuple whose first element is name.
func isRequest(t etf.Term, name etf.Atom) bool {
	tuple, ok := t.(etf.Tuple)
	return ok && len(tuple) > 0 && tuple[0] == name
}

func decodeDownload(tuple etf.Tuple) (r Request, err error) {
	r = Request{Verb: Download, Count: math.MaxInt}
	if r.ID, err = identifier(tuple[1]); err != nil || len(tuple) == 2 {
		return r, err
	}
	off, err1 := integer(tuple[2])
	n, err2 := integer(tuple[3])
	if errors.Join(err1, err2) != nil || off < 0 || n < 0 {
		return r, bad("{download, Id, Offset, Count} takes two integers that are not negative")
	}
	r.Offset, r.Count = off, n
	return r, nil
}

// eachOption calls set for each option of the map of a request.
func eachOption(request string, t etf.Term, set func(name string, v etf.Term) error) error {
	m, ok := t.(etf.Map)
	if !ok {
		return bad("{" + request + ", Options} takes a map")
	}
	for _, p := range m {
		name, _ := p.Key.(etf.Atom)
		if err := set(string(name), p.Value); err != nil {
			return fmt.Errorf("option %v: %w", p.Key, err)
		}
	}
	return nil
}

// realType reads the type in which a density computes.
func realType(v etf.Term) (ops.DType, error) {
	d, err := dtypeOf(v)
	if err == nil && d != ops.F64 && d != ops.F32 {
		err = bad("must be f64 or f32")
	}
	return d, err
}

func decodeOptions(t etf.Term) (o Options, err error) {
	m, ok := t.(etf.Map)
	if !ok {
		return o, bad("options are a map")
	}
	o.Limit = math.MaxInt64
	for _, p := range m {
		if !o.set(p.Key, p.Value) {
			return o, bad("options are limit, label, digest, deadline, weight, sweep and mesh; see gen/README.md")
		}
	}
	return o, nil
}

func (o *Options) set(key, value etf.Term) (ok bool) {
	switch key {
	case etf.Atom("limit"):
		o.LimitSet = true
		if value == etf.Atom("infinity") {
			return true
		}
		o.Limit, ok = value.(int64)
		return ok && o.Limit > 0
	case etf.Atom("deadline"):
		o.DeadlineSet = true
		if value == etf.Atom("infinity") {
			return true
		}
		var ms int64
		ms, ok = value.(int64)
		o.Deadline = time.Duration(ms) * time.Millisecond
		return ok && ms > 0 && ms <= math.MaxInt32
	case etf.Atom("weight"):
		var n int64
		n, ok = value.(int64)
		o.Weight = int(n)
		return ok && n >= 1 && n <= MaxWeight
	case etf.Atom("label"):
		var b []byte
		b, ok = value.([]byte)
		o.Label = string(b)
		return ok && len(b) <= 255
	case etf.Atom("digest"):
		var b []byte
		b, ok = value.([]byte)
		o.Digest = string(b)
		return ok
	case etf.Atom("mesh"):
		o.Mesh, ok = meshOf(value)
		return ok
	case etf.Atom("sweep"):
		o.Sweep, ok = truth(value)
		return ok
	case etf.Atom("flow"):
		o.Flow, ok = truth(value)
		return ok
	}
	return false
}

func truth(t etf.Term) (b, ok bool) {
	return t == etf.Atom("true"), t == etf.Atom("true") || t == etf.Atom("false")
}

// Key reads the secret of a session: an unsigned integer of 64 bits.
func Key(t etf.Term) (uint64, error) {
	switch n := t.(type) {
	case int64:
		if n >= 0 {
			return uint64(n), nil
		}
	case *big.Int:
		if n.IsUint64() {
			return n.Uint64(), nil
		}
	}
	return 0, bad("a key is an unsigned integer of 64 bits")
}
