package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// Kind is the kind of an error, an atom of the protocol.
type Kind string

// The kinds of errors that clients see.
const (
	BadRequest  Kind = "bad_request"
	UnknownOp   Kind = "unknown_op"
	BadArgument Kind = "bad_argument"
	UnknownID   Kind = "unknown_id"
	Stale       Kind = "stale"
	NotShared   Kind = "not_shared"
	Unsupported Kind = "unsupported"
	OutOfMemory Kind = "out_of_memory"
	Limit       Kind = "limit"
	DeviceLost  Kind = "device_lost"
	ServerDown  Kind = "server_down"
	RankFailed  Kind = "rank_failed" // another rank of a mesh, in a collective
	Internal    Kind = "internal"

	UnknownProgram Kind = "unknown_program"
	Cancelled      Kind = "cancelled"
	Deadline       Kind = "deadline" // an instruction or a run took longer than its session allows
	CallbackFailed Kind = "callback"
)

// Fault is an error of a kind.
type Fault struct {
	Kind Kind
	Err  error
}

// Error returns the failure in words.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Late returns the Fault of what has taken longer than the deadline of its session.
func Late(deadline time.Duration) error {
	return &Fault{Deadline, fmt.Errorf("it has taken longer than the deadline of the session, %v; raise that, or ask for less at a time", deadline)}
}

// Fail returns err as the error of the instruction on operands of the given types. note says where the client
// has sent it.
func (in *Instr) Fail(note string, types []ops.Type, err error) error {
	wrapped := in.Wrap(types, err)
	wrapped.Op = in.Name
	if note != "" {
		wrapped.Err = fmt.Errorf("%w; sent by %s", wrapped.Err, note)
	}
	return wrapped
}

// bad returns the Fault of a term that does not have the form of the protocol.
func bad(text string) error { return &Fault{BadRequest, errors.New(text)} }

// KindOf returns the kind of an error. An error that is no Fault is Internal.
func KindOf(err error) Kind {
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return Internal
}

// ErrorTerm returns {Kind, Op, Operands, Message}. Op is nil where there is no operation,
// or where it could not be read.
func ErrorTerm(err error) etf.Term {
	op, shapes, msg := etf.Term(etf.Atom("nil")), etf.List(nil), err.Error()
	var e *ops.Error
	if errors.As(err, &e) {
		if msg = e.Err.Error(); e.Op != "" {
			op = e.Op
		}
		for _, s := range e.Shapes {
			shapes = append(shapes, s)
		}
	}
	return etf.Tuple{etf.Atom(KindOf(err)), op, shapes, abridge(msg)}
}

// ReadError returns the error that ErrorTerm has made a term of. Its operation is part of its sentence.
func ReadError(t etf.Term) error {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 4 {
		return bad("an error is {Kind, Op, Operands, Message}")
	}
	kind, ok := tuple[0].(etf.Atom)
	text, ok2 := tuple[3].([]byte)
	if !ok || !ok2 {
		return bad("an error is {Kind, Op, Operands, Message}")
	}
	err := errors.New(string(text))
	if op, ok := tuple[1].([]byte); ok {
		e := &ops.Error{Op: string(op), Err: &Fault{Kind(kind), err}}
		if list, ok := tuple[2].(etf.List); ok {
			for _, s := range list {
				if b, ok := s.([]byte); ok {
					e.Shapes = append(e.Shapes, string(b))
				}
			}
		}
		return e
	}
	return &Fault{Kind(kind), err}
}

// MaxMessage bounds the sentence of an error, in bytes.
const MaxMessage = 2000

// abridge leaves out the middle of a long sentence. The sentence begins with the place of
// the error, step by step through the regions of a program, and ends with its cause.
func abridge(msg string) string {
	const gap = " … "
	const half = (MaxMessage - len(gap)) / 2
	if len(msg) <= MaxMessage {
		return msg
	}
	return strings.ToValidUTF8(msg[:half], "") + gap + strings.ToValidUTF8(msg[len(msg)-half:], "")
}

// Failure returns {error, Error}.
func Failure(err error) etf.Term { return etf.Tuple{etf.Atom("error"), ErrorTerm(err)} }

// Success returns {ok, Reply}.
func Success(reply etf.Term) etf.Term { return etf.Tuple{etf.Atom("ok"), reply} }

// OK is the answer of a request without a reply.
const OK = etf.Atom("ok")
