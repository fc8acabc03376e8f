package exec

import (
	"errors"

	"nxvk/vulkan"
)

// A driver may refuse a kernel, for reasons of its own. No program fails for that: a
// unit goes one instruction at a time, an instruction whose kernel is refused is the
// host's, and so are the steps of a density. Where the host stands in for the device it
// goes on.

// refused reports whether an error says that the driver does not compile a kernel.
func Refused(err error) bool { return errors.Is(err, vulkan.ErrRefused) }

// noteRefused counts and tells that the driver does not compile a kernel. Who brought
// code of their own are told themselves.
func (e *Executor) noteRefused(c *Kernel) {
	if Refused(c.err) && c.kernel != nil {
		e.Counters.Refused++
		e.cfg.Log.Warn().Err(c.err).Str("kernel", c.kernel.Name).Msg("what needs the kernel is carried out without it, on the host at worst")
	}
}
