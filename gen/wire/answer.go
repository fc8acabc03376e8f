package wire

import (
	"errors"
	"slices"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// Answer is the answer of a process to a callback.
type Answer struct {
	Run  ops.ID
	Ref  uint64
	Data [][]byte
	Err  error // the callback failed
}

// DecodeAnswer reads {nxvk_answer, Run, Ref, Result}. Where Result cannot be read, the
// Answer says that the callback failed.
func DecodeAnswer(t etf.Tuple) (Answer, error) {
	if len(t) != 4 {
		return Answer{}, bad("an answer is {nxvk_answer, Run, Ref, Result}")
	}
	run, err1 := integer(t[1])
	ref, err2 := integer(t[2])
	if errors.Join(err1, err2) != nil {
		return Answer{}, bad("an answer names its run and its reference")
	}
	a := Answer{Run: ops.ID(run), Ref: uint64(ref)}
	a.Data, a.Err = answerData(t[3])
	return a, nil
}

func answerData(t etf.Term) ([][]byte, error) {
	malformed := errors.New("the answer is neither {ok, [Data]} nor {error, Text}")
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 2 {
		return nil, malformed
	}
	switch tuple[0] {
	case etf.Atom("error"):
		if text, ok := tuple[1].([]byte); ok {
			return nil, errors.New(string(text))
		}
	case etf.Atom("ok"):
		list, ok := tuple[1].(etf.List)
		if !ok {
			return nil, malformed
		}
		return binaries(list)
	}
	return nil, malformed
}

// binaries copies binaries into Go's memory.
func binaries(list etf.List) ([][]byte, error) {
	out := make([][]byte, len(list))
	for i, e := range list {
		switch b := e.(type) {
		case []byte:
			out[i] = b
		case *etf.Binary:
			out[i] = slices.Clone(b.Bytes())
			b.Release()
		default:
			return nil, errors.New("the values of an answer are binaries")
		}
	}
	return out, nil
}
