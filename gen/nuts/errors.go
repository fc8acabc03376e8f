package nuts

import "fmt"

func errStep(step float64) error {
	if step > 1 {
		return fmt.Errorf("%w: no step is too large for it (%g is accepted); is it improper?", ErrDensity, step)
	}
	return fmt.Errorf("%w: no step is small enough (%g is rejected); is it finite around the first position, and its gradient right?", ErrDensity, step)
}
