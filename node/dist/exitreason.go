package dist

import (
	"errors"
	"fmt"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// Reason is an exit reason of a BEAM process that has no name in Ergo.
type Reason struct {
	Term etf.Term
}

func (r Reason) Error() string { return fmt.Sprintf("%v", r.Term) }

// reasons pairs the exit reasons that both sides know.
var reasons = []struct {
	atom etf.Atom
	err  error
}{
	{"normal", gen.TerminateReasonNormal},
	{"shutdown", gen.TerminateReasonShutdown},
	{"killed", gen.TerminateReasonKill},
	{"kill", gen.TerminateReasonKill},
	{"noproc", gen.ErrProcessUnknown},
	{"noproc", gen.ErrProcessTerminated},
	{"noconnection", gen.ErrNoConnection},
}

// reasonError turns an exit reason into the error that Ergo's messages carry.
func reasonError(t etf.Term) error {
	if a, ok := t.(etf.Atom); ok {
		for _, r := range reasons {
			if r.atom == a {
				return r.err
			}
		}
	}
	return Reason{Term: t}
}

// reasonTerm turns an actor's last error into an exit reason.
func reasonTerm(err error) etf.Term {
	var reason Reason
	if errors.As(err, &reason) {
		return reason.Term
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.atom
		}
	}
	if err == nil {
		return etf.Atom("normal")
	}
	return etf.Tuple{etf.Atom("error"), err.Error()}
}
