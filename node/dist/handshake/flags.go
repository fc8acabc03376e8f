package handshake

// Capabilities of the distribution, as the handshake exchanges them.
const (
	FlagExtendedReferences = 1 << 2
	FlagDistMonitor        = 1 << 3
	FlagFunTags            = 1 << 4
	FlagDistMonitorName    = 1 << 5
	FlagNewFunTags         = 1 << 7
	FlagExtendedPidsPorts  = 1 << 8
	FlagExportPtrTag       = 1 << 9
	FlagBitBinaries        = 1 << 10
	FlagNewFloats          = 1 << 11
	FlagUnicodeIO          = 1 << 12
	FlagDistHdrAtomCache   = 1 << 13
	FlagSmallAtomTags      = 1 << 14
	FlagUTF8Atoms          = 1 << 16
	FlagMapTag             = 1 << 17
	FlagBigCreation        = 1 << 18
	FlagSendSender         = 1 << 19
	FlagExitPayload        = 1 << 22
	FlagFragments          = 1 << 23
	FlagHandshake23        = 1 << 24
	FlagUnlinkID           = 1 << 25
	FlagMandatory25Digest  = 1 << 26
	FlagSpawn              = 1 << 32
	FlagV4NC               = 1 << 34
	FlagAlias              = 1 << 35
)

// FlagsMandatory25 is what OTP 25 requires of every peer; a node that says
// FlagMandatory25Digest has them all. FlagsMandatory adds OTP 26's.
const (
	FlagsMandatory25 = FlagExtendedReferences | FlagFunTags | FlagNewFunTags | FlagExtendedPidsPorts |
		FlagExportPtrTag | FlagBitBinaries | FlagNewFloats | FlagUTF8Atoms | FlagMapTag | FlagBigCreation |
		FlagHandshake23
	FlagsMandatory = FlagsMandatory25 | FlagUnlinkID | FlagV4NC
)

// FlagsOffered are ours. The flag of a published node is not among them: a
// hidden node stays out of nodes/0 and of global's name space.
const FlagsOffered = FlagsMandatory | FlagMandatory25Digest | FlagDistMonitor | FlagDistMonitorName |
	FlagUnicodeIO | FlagDistHdrAtomCache | FlagSmallAtomTags | FlagSendSender | FlagExitPayload |
	FlagFragments | FlagSpawn | FlagAlias
