package wire

import (
	"fmt"

	"nxvk/gen/etf"
)

// Summary is a request to summarize draws.
type Summary struct {
	Chains, Draws int
	Data          []float64 // parameters × chains × draws
}

// decodeSummary reads {summary, Options}.
func decodeSummary(t etf.Term) (*Summary, error) {
	s := &Summary{Chains: 1}
	if err := eachOption("summary", t, s.set); err != nil {
		return nil, err
	}
	switch n := s.Chains * s.Draws; {
	case n == 0:
		return nil, bad("summary needs the options draws and data")
	case len(s.Data) == 0 || len(s.Data)%n != 0:
		return nil, bad(fmt.Sprintf("data has %d numbers, %d chains of %d draws need %d for each parameter", len(s.Data), s.Chains, s.Draws, n))
	}
	return s, nil
}

func (s *Summary) set(name string, v etf.Term) (err error) {
	switch name {
	case "chains":
		s.Chains, err = between(v, 1, MaxChains)
	case "draws":
		s.Draws, err = between(v, 1, MaxDraws)
	case "data":
		s.Data, err = doubles(v)
	default:
		err = bad("is not an option of summary; gen/README.md lists them")
	}
	return err
}
