package dist

// Capabilities of the distribution, as the handshake exchanges them.
const (
	flagExtendedReferences = 1 << 2
	flagDistMonitor        = 1 << 3
	flagFunTags            = 1 << 4
	flagDistMonitorName    = 1 << 5
	flagNewFunTags         = 1 << 7
	flagExtendedPidsPorts  = 1 << 8
	flagExportPtrTag       = 1 << 9
	flagBitBinaries        = 1 << 10
	flagNewFloats          = 1 << 11
	flagUnicodeIO          = 1 << 12
	flagDistHdrAtomCache   = 1 << 13
	flagSmallAtomTags      = 1 << 14
	flagUTF8Atoms          = 1 << 16
	flagMapTag             = 1 << 17
	flagBigCreation        = 1 << 18
	flagSendSender         = 1 << 19
	flagExitPayload        = 1 << 22
	flagFragments          = 1 << 23
	flagHandshake23        = 1 << 24
	flagUnlinkID           = 1 << 25
	flagMandatory25Digest  = 1 << 26
	flagSpawn              = 1 << 32
	flagV4NC               = 1 << 34
	flagAlias              = 1 << 35
)

// flagsMandatory25 are what OTP 25 requires of every peer; a node that says
// flagMandatory25Digest has them all. flagsMandatory adds OTP 26's.
const (
	flagsMandatory25 = flagExtendedReferences | flagFunTags | flagNewFunTags | flagExtendedPidsPorts |
		flagExportPtrTag | flagBitBinaries | flagNewFloats | flagUTF8Atoms | flagMapTag | flagBigCreation |
		flagHandshake23
	flagsMandatory = flagsMandatory25 | flagUnlinkID | flagV4NC
)

// flagsOffered are ours. The flag of a published node is not among them: a
// hidden node stays out of nodes/0 and of global's name space.
const flagsOffered = flagsMandatory | flagMandatory25Digest | flagDistMonitor | flagDistMonitorName |
	flagUnicodeIO | flagDistHdrAtomCache | flagSmallAtomTags | flagSendSender | flagExitPayload |
	flagFragments | flagSpawn | flagAlias
