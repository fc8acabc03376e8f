package synth

// Unit is Fusion.
type Unit = Fusion

// Units and LowerUnit are Fuse and LowerFusion.
var (
	Units     = Fuse
	LowerUnit = LowerFusion
)
