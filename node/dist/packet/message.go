package packet

import (
	"errors"
	"fmt"
	"slices"

	"nxvk/gen/etf"
	"nxvk/node/dist/quota"
)

// Message is a message whose control message and payload are decoded. Both are only
// valid while it is delivered, but for what Payload.Keep returns.
type Message struct {
	Control etf.Tuple
	Payload Payload
	Size    int          // bytes of its terms, large binaries apart
	Cost    quota.Charge // of its terms
}

// Payload is what a message has beside its control message. A tuple of few elements
// lies in work space of the Reader: it is looked at in passing where it is an envelope
// such as {'$gen_cast', Request}.
type Payload struct {
	Tuple etf.Tuple
	Term  etf.Term // where Tuple is nil
}

// Keep returns the payload as a term that outlives the work space.
func (p Payload) Keep() etf.Term {
	if p.Tuple != nil {
		return slices.Clone(p.Tuple)
	}
	return p.Term
}

// Front is the front of a payload that is a tagged tuple: see etf.Decoder.DecodeFront.
type Front struct {
	Tuple etf.Tuple
	Size  int
}

// message decodes the control message and the payload and delivers them. The
// large binaries of a message that nobody takes are freed.
func (r *Reader) message(p []byte, atoms, large []etf.Term) error {
	r.decoder.Cache, r.decoder.Large = atoms, large
	r.decoder.Begin(decodeRoom)
	r.cost = quota.NewCharge(r.Account)
	control, payload, err := r.decode(p)
	if err == nil {
		err = r.cost.Grow(int64(r.decoder.Size()) - r.cost.Size())
	}
	if err != nil {
		r.cost.Settle()
		release(large)
		if lacksRoom(err) {
			return r.giveUp(p, atoms, err)
		}
		return err
	}
	cost := r.cost
	taken, err := r.Deliver(Message{Control: control, Payload: payload, Size: len(p), Cost: cost})
	if !taken {
		cost.Settle()
		release(large)
	}
	return err
}

// lacksRoom reports whether an error is about the size of a message alone, so that the
// stream can be read on.
func lacksRoom(err error) bool {
	return errors.Is(err, quota.ErrOverLimit) || errors.Is(err, ErrTooLarge)
}

// giveUp refuses a message whose bytes begin with p. It returns cause where nobody can
// be told: the control message, or who calls, is not in p, or takes too much itself.
func (r *Reader) giveUp(p []byte, atoms []etf.Term, cause error) error {
	if r.Refuse == nil {
		return cause
	}
	d := &r.decoder
	pay := d.More
	defer func() { d.More = pay }()
	d.More = func(int) error { return cause }
	d.Cache, d.Large = atoms, nil
	d.Begin(decodeRoom)
	control, p, err := d.DecodeTuple(skipVersion(p), r.control[:])
	if err != nil || len(control) == 0 {
		return cause
	}
	wanted, err := true, error(nil)
	if r.Wanted != nil {
		wanted, err = r.Wanted(control)
	}
	if err != nil {
		return err
	}
	if !wanted {
		_, err = r.Deliver(Message{Control: control})
		return err
	}
	if len(p) == 0 {
		return cause
	}
	var f Front
	f.Tuple, f.Size = d.DecodeFront(skipVersion(p), r.envelope[:2])
	return r.Refuse(control, f, cause)
}

func (r *Reader) decode(p []byte) (control etf.Tuple, content Payload, err error) {
	control, p, err = r.decoder.DecodeTuple(skipVersion(p), r.control[:])
	if err != nil {
		return nil, content, undecodable("control message", err)
	}
	if len(control) == 0 {
		return nil, content, fmt.Errorf("%w: empty control message", ErrMalformed)
	}
	if r.Wanted != nil {
		if wanted, err := r.Wanted(control); err != nil || !wanted {
			return control, content, err
		}
	}
	if len(p) > 0 {
		if p = skipVersion(p); etf.IsTuple(p, len(r.envelope)) {
			content.Tuple, p, err = r.decoder.DecodeTuple(p, r.envelope[:])
		} else {
			content.Term, p, err = r.decoder.Decode(p)
		}
		if err != nil {
			return nil, content, undecodable("payload", err)
		}
	}
	if len(p) > 0 || len(r.decoder.Large) > 0 {
		return nil, content, fmt.Errorf("%w: %d bytes after the payload", ErrMalformed, len(p))
	}
	return control, content, nil
}

// undecodable is the error of a part of a message: that of its account, or that it is
// malformed.
func undecodable(part string, err error) error {
	if errors.Is(err, quota.ErrOverLimit) {
		return fmt.Errorf("%s: %w", part, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrMalformed, part, err)
}

// skipVersion drops the version byte that terms outside a header have.
func skipVersion(p []byte) []byte {
	if len(p) > 0 && p[0] == etf.Version {
		return p[1:]
	}
	return p
}
