package etf

// Version is the byte that precedes a term outside the distribution header.
const Version = 131

// Tags of the external term format, in the order of their values.
const (
	tagNewFloat       = 70
	tagBitBinary      = 77
	tagAtomCacheRef   = 82
	tagNewPid         = 88
	tagNewPort        = 89
	tagNewerReference = 90
	tagSmallInteger   = 97
	tagInteger        = 98
	tagFloat          = 99
	tagAtom           = 100
	tagReference      = 101
	tagPort           = 102
	tagPid            = 103
	tagSmallTuple     = 104
	tagLargeTuple     = 105
	tagNil            = 106
	tagString         = 107
	tagList           = 108
	tagBinary         = 109
	tagSmallBig       = 110
	tagLargeBig       = 111
	tagNewFun         = 112
	tagExport         = 113
	tagNewReference   = 114
	tagSmallAtom      = 115
	tagMap            = 116
	tagAtomUTF8       = 118
	tagSmallAtomUTF8  = 119
	tagV4Port         = 120
)

// isAtom reports whether a term with this tag is an atom.
func isAtom(tag byte) bool {
	switch tag {
	case tagAtom, tagAtomUTF8, tagSmallAtom, tagSmallAtomUTF8, tagAtomCacheRef:
		return true
	}
	return false
}
