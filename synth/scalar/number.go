package scalar

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseNumber returns the bits of a literal as a value of type t.
func parseNumber(text string, t Type) (uint64, error) {
	if t.Float() {
		return parseFloat(text, t)
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not an integer", text)
	}
	if v&^widthMask(t) != 0 {
		return 0, fmt.Errorf("%s does not fit %s", text, t)
	}
	return v, nil
}

// parseFloat accepts decimal, hexadecimal with exponent, and hexadecimal
// integers.
func parseFloat(text string, t Type) (uint64, error) {
	if strings.HasPrefix(text, "0x") && !strings.ContainsAny(text, "pP") {
		v, err := strconv.ParseUint(text, 0, 53)
		if err != nil {
			return 0, fmt.Errorf("%s is not a number", text)
		}
		return floatBits(float64(v), t), nil
	}
	v, err := strconv.ParseFloat(text, t.Width())
	if err != nil {
		return 0, fmt.Errorf("%s is not a number of type %s", text, t)
	}
	return floatBits(v, t), nil
}

// floatBits returns the bits of v, rounded to type t.
func floatBits(v float64, t Type) uint64 {
	if t == F32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// floatValue is the inverse of floatBits.
func floatValue(t Type, b uint64) float64 {
	if t == F32 {
		return float64(math.Float32frombits(uint32(b)))
	}
	return math.Float64frombits(b)
}
