package store

import (
	"fmt"

	"nxvk/ops"
)

// unknownID is the error of an id without a value.
type unknownID struct {
	id  ops.ID
	why string
}

func (u unknownID) Error() string { return fmt.Sprintf("value %d is not held: %s", u.id, u.why) }
