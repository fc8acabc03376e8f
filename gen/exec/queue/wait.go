package queue

// Wait is why a request cannot go on. It is carried out again, from where it stands, when
// that has come. The zero Wait is none.
type Wait uint8

// The reasons.
const (
	ForTurn     Wait = iota + 1 // it has been served for long enough, others are due
	ForMemory                   // memory that others may free
	ForImport                   // a value that another session has not made yet
	ForPlan                     // the plan of an instruction or of a program
	ForKernel                   // the driver, which compiles a kernel
	ForReadback                 // a value that is only on the device
	ForUpload                   // a large value on its way to the device
	ForStatus                   // a word of the device that says how to go on
	ForHost                     // a computation of the host
	ForDevice                   // the device, which has enough to do
	ForAnswer                   // the answer to a callback
	ForRun                      // another run of the session, outside its order
	ForMesh                     // other ranks, in a collective

	Waits = int(ForMesh) + 1 // bounds them
)

// Counts is how often something had to wait, by reason.
type Counts [Waits]uint64

// String is the name of the reason, as metrics show it.
func (w Wait) String() string {
	return [Waits]string{"", "turn", "memory", "import", "plan", "kernel", "readback", "upload", "status", "host", "device", "answer", "run", "mesh"}[w]
}
