// The loops of vector_amd64.s. d, x, y and z are columns.

package simt

//go:noescape
func addFloat32(d, x, y *byte, blocks int)

//go:noescape
func subFloat32(d, x, y *byte, blocks int)

//go:noescape
func mulFloat32(d, x, y *byte, blocks int)

//go:noescape
func divFloat32(d, x, y *byte, blocks int)

//go:noescape
func addFloat64(d, x, y *byte, blocks int)

//go:noescape
func subFloat64(d, x, y *byte, blocks int)

//go:noescape
func mulFloat64(d, x, y *byte, blocks int)

//go:noescape
func divFloat64(d, x, y *byte, blocks int)

//go:noescape
func addWord32(d, x, y *byte, blocks int)

//go:noescape
func subWord32(d, x, y *byte, blocks int)

//go:noescape
func mulWord32(d, x, y *byte, blocks int)

//go:noescape
func addWord64(d, x, y *byte, blocks int)

//go:noescape
func subWord64(d, x, y *byte, blocks int)

//go:noescape
func andBits(d, x, y *byte, blocks int)

//go:noescape
func orBits(d, x, y *byte, blocks int)

//go:noescape
func xorBits(d, x, y *byte, blocks int)

//go:noescape
func shlWord32(d, x, y *byte, blocks int)

//go:noescape
func shrUint32(d, x, y *byte, blocks int)

//go:noescape
func shrInt32(d, x, y *byte, blocks int)

//go:noescape
func equalFloat32(d, x, y *byte, blocks int)

//go:noescape
func unequalFloat32(d, x, y *byte, blocks int)

//go:noescape
func lessFloat32(d, x, y *byte, blocks int)

//go:noescape
func atMostFloat32(d, x, y *byte, blocks int)

//go:noescape
func equalWord32(d, x, y *byte, blocks int)

//go:noescape
func unequalWord32(d, x, y *byte, blocks int)

//go:noescape
func lessInt32(d, x, y *byte, blocks int)

//go:noescape
func atMostInt32(d, x, y *byte, blocks int)

//go:noescape
func lessUint32(d, x, y *byte, blocks int)

//go:noescape
func atMostUint32(d, x, y *byte, blocks int)

//go:noescape
func negFloat32(d, x *byte, blocks int)

//go:noescape
func negFloat64(d, x *byte, blocks int)

//go:noescape
func negWord32(d, x *byte, blocks int)

//go:noescape
func notBits(d, x *byte, blocks int)

//go:noescape
func notTruth(d, x *byte, blocks int)

//go:noescape
func sqrtFloat32(d, x *byte, blocks int)

//go:noescape
func sqrtFloat64(d, x *byte, blocks int)

//go:noescape
func floorFloat32(d, x *byte, blocks int)

//go:noescape
func ceilFloat32(d, x *byte, blocks int)

//go:noescape
func truncFloat32(d, x *byte, blocks int)

//go:noescape
func evenFloat32(d, x *byte, blocks int)

//go:noescape
func floorFloat64(d, x *byte, blocks int)

//go:noescape
func ceilFloat64(d, x *byte, blocks int)

//go:noescape
func truncFloat64(d, x *byte, blocks int)

//go:noescape
func evenFloat64(d, x *byte, blocks int)

//go:noescape
func floatOfInt32(d, x *byte, blocks int)

//go:noescape
func copyBits(d, x *byte, blocks int)

//go:noescape
func mulAddFloat32(d, x, y, z *byte, blocks int)

//go:noescape
func mulAddFloat64(d, x, y, z *byte, blocks int)

//go:noescape
func chooseWord32(d, x, y, z *byte, blocks int)

//go:noescape
func equalFloat64(d, x, y *byte, blocks int)

//go:noescape
func unequalFloat64(d, x, y *byte, blocks int)

//go:noescape
func lessFloat64(d, x, y *byte, blocks int)

//go:noescape
func atMostFloat64(d, x, y *byte, blocks int)

//go:noescape
func chooseWord64(d, x, y, z *byte, blocks int)
