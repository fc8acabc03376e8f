// Package placement has an instruction with its operands at hand, and the rules for where it is
// computed. The rules look at the op, the sizes, and where the operands are, never at the clock,
// so a program gives the same bits each time.
//
// A view is the memory of its operand (Work.Alias). Work that touches few elements, all on the
// host, is the host's (Work.Small), unless a GPU answers sooner (Work.Long); everything else
// is the device's. Where the device is a processor, the host computes some of that in its stead (InStead, Divides): movements of elements,
// work that is too small to be worth a dispatch, and work whose bits are the same and whose kernel is not
// compiled. Where both give the same bits, a contest of the executor decides (package kernels).
//
// HostCost estimates, from the op's kind and the sizes, whether the host computes at once or in a
// job of its own. Each rule costs some tens of nanoseconds.
//
// The package refuses to know sessions, queues and pipelines. Start reading at Work.
package placement
