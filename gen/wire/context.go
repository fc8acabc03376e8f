package wire

import (
	"regexp"
	"time"

	"nxvk/gen/etf"
)

// Context is the trace context of a run or a read, in the form of W3C Trace Context: the node
// measures where its time goes, and tells the session's process.
type Context struct {
	Parent string    // the traceparent
	Came   time.Time // when the message arrived
}

// traceparent is version, trace id, id of the parent and flags; later versions may append fields.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{1,64})?$`)

// decodeContext reads a traceparent, a binary, or nil for none.
func decodeContext(t etf.Term) (*Context, error) {
	if t == etf.Atom("nil") {
		return nil, nil
	}
	b, ok := t.([]byte)
	if !ok || !traceparent.Match(b) {
		return nil, bad("a trace context is nil or a binary with a W3C traceparent, such as 00-TRACE-PARENT-01 in hexadecimal digits")
	}
	return &Context{Parent: string(b), Came: time.Now()}, nil
}
