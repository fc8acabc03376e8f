#include "textflag.h"

// Loops over columns, 32 bytes at a time: see vector_amd64.go.

#define START \
	MOVQ d+0(FP), DI; \
	MOVQ x+8(FP), SI; \
	XORQ AX, AX

#define END \
	VMOVUPS Y2, (DI)(AX*1); \
	ADDQ $32, AX; \
	DECQ CX; \
	JNZ next; \
	VZEROUPPER; \
	RET

// COMPARE64 compares 8 elements of 64 bits and makes numbers of 32 bits of the masks.
#define COMPARE64(by) \
	VMOVUPS (SI)(AX*2), Y0; \
	VCMPPD by, (DX)(AX*2), Y0, Y0; \
	VMOVUPS 32(SI)(AX*2), Y1; \
	VCMPPD by, 32(DX)(AX*2), Y1, Y1; \
	VSHUFPS $0x88, Y1, Y0, Y2; \
	VPERMQ $0xD8, Y2, Y2; \
	TRUE

// TRUE makes numbers of a mask, and FALSE those of its complement.
#define TRUE VPSRLD $31, Y2, Y2
#define FALSE VPSRLD $31, Y2, Y2; VPCMPEQD Y3, Y3, Y3; VPSRLD $31, Y3, Y3; VPXOR Y3, Y2, Y2

// func addFloat32(d, x, y *byte, blocks int)
TEXT ·addFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VADDPS Y1, Y0, Y2
	END

// func subFloat32(d, x, y *byte, blocks int)
TEXT ·subFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VSUBPS Y1, Y0, Y2
	END

// func mulFloat32(d, x, y *byte, blocks int)
TEXT ·mulFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMULPS Y1, Y0, Y2
	END

// func divFloat32(d, x, y *byte, blocks int)
TEXT ·divFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VDIVPS Y1, Y0, Y2
	END

// func addFloat64(d, x, y *byte, blocks int)
TEXT ·addFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VADDPD Y1, Y0, Y2
	END

// func subFloat64(d, x, y *byte, blocks int)
TEXT ·subFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VSUBPD Y1, Y0, Y2
	END

// func mulFloat64(d, x, y *byte, blocks int)
TEXT ·mulFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMULPD Y1, Y0, Y2
	END

// func divFloat64(d, x, y *byte, blocks int)
TEXT ·divFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VDIVPD Y1, Y0, Y2
	END

// func addWord32(d, x, y *byte, blocks int)
TEXT ·addWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPADDD Y1, Y0, Y2
	END

// func subWord32(d, x, y *byte, blocks int)
TEXT ·subWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPSUBD Y1, Y0, Y2
	END

// func mulWord32(d, x, y *byte, blocks int)
TEXT ·mulWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPMULLD Y1, Y0, Y2
	END

// func addWord64(d, x, y *byte, blocks int)
TEXT ·addWord64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPADDQ Y1, Y0, Y2
	END

// func subWord64(d, x, y *byte, blocks int)
TEXT ·subWord64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPSUBQ Y1, Y0, Y2
	END

// func andBits(d, x, y *byte, blocks int)
TEXT ·andBits(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPAND Y1, Y0, Y2
	END

// func orBits(d, x, y *byte, blocks int)
TEXT ·orBits(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPOR Y1, Y0, Y2
	END

// func xorBits(d, x, y *byte, blocks int)
TEXT ·xorBits(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPXOR Y1, Y0, Y2
	END

// func shlWord32(d, x, y *byte, blocks int)
TEXT ·shlWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPSLLVD Y1, Y0, Y2
	END

// func shrUint32(d, x, y *byte, blocks int)
TEXT ·shrUint32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPSRLVD Y1, Y0, Y2
	END

// func shrInt32(d, x, y *byte, blocks int)
TEXT ·shrInt32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPSRAVD Y1, Y0, Y2
	END

// func equalFloat32(d, x, y *byte, blocks int)
TEXT ·equalFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VCMPPS $0, Y1, Y0, Y2
	TRUE
	END

// func unequalFloat32(d, x, y *byte, blocks int)
TEXT ·unequalFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VCMPPS $4, Y1, Y0, Y2
	TRUE
	END

// func lessFloat32(d, x, y *byte, blocks int)
TEXT ·lessFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VCMPPS $1, Y1, Y0, Y2
	TRUE
	END

// func atMostFloat32(d, x, y *byte, blocks int)
TEXT ·atMostFloat32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VCMPPS $2, Y1, Y0, Y2
	TRUE
	END

// func equalWord32(d, x, y *byte, blocks int)
TEXT ·equalWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPCMPEQD Y1, Y0, Y2
	TRUE
	END

// func unequalWord32(d, x, y *byte, blocks int)
TEXT ·unequalWord32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPCMPEQD Y1, Y0, Y2
	FALSE
	END

// func lessInt32(d, x, y *byte, blocks int)
TEXT ·lessInt32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPCMPGTD Y0, Y1, Y2
	TRUE
	END

// func atMostInt32(d, x, y *byte, blocks int)
TEXT ·atMostInt32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPCMPGTD Y1, Y0, Y2
	FALSE
	END

// func lessUint32(d, x, y *byte, blocks int)
TEXT ·lessUint32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPMINUD Y1, Y0, Y2
	VPCMPEQD Y1, Y2, Y2
	FALSE
	END

// func atMostUint32(d, x, y *byte, blocks int)
TEXT ·atMostUint32(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VPMINUD Y1, Y0, Y2
	VPCMPEQD Y0, Y2, Y2
	TRUE
	END

// func negFloat32(d, x *byte, blocks int)
TEXT ·negFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VPCMPEQD Y1, Y1, Y1
	VPSLLD $31, Y1, Y1
	VPXOR Y1, Y0, Y2
	END

// func negFloat64(d, x *byte, blocks int)
TEXT ·negFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VPCMPEQD Y1, Y1, Y1
	VPSLLQ $63, Y1, Y1
	VPXOR Y1, Y0, Y2
	END

// func negWord32(d, x *byte, blocks int)
TEXT ·negWord32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VPXOR Y1, Y1, Y1
	VPSUBD Y0, Y1, Y2
	END

// func notBits(d, x *byte, blocks int)
TEXT ·notBits(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VPCMPEQD Y1, Y1, Y1
	VPXOR Y1, Y0, Y2
	END

// func notTruth(d, x *byte, blocks int)
TEXT ·notTruth(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VPCMPEQD Y1, Y1, Y1
	VPSRLD $31, Y1, Y1
	VPXOR Y1, Y0, Y2
	END

// func sqrtFloat32(d, x *byte, blocks int)
TEXT ·sqrtFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VSQRTPS Y0, Y2
	END

// func sqrtFloat64(d, x *byte, blocks int)
TEXT ·sqrtFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VSQRTPD Y0, Y2
	END

// func floorFloat32(d, x *byte, blocks int)
TEXT ·floorFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPS $9, Y0, Y2
	END

// func ceilFloat32(d, x *byte, blocks int)
TEXT ·ceilFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPS $10, Y0, Y2
	END

// func truncFloat32(d, x *byte, blocks int)
TEXT ·truncFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPS $11, Y0, Y2
	END

// func evenFloat32(d, x *byte, blocks int)
TEXT ·evenFloat32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPS $8, Y0, Y2
	END

// func floorFloat64(d, x *byte, blocks int)
TEXT ·floorFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPD $9, Y0, Y2
	END

// func ceilFloat64(d, x *byte, blocks int)
TEXT ·ceilFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPD $10, Y0, Y2
	END

// func truncFloat64(d, x *byte, blocks int)
TEXT ·truncFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPD $11, Y0, Y2
	END

// func evenFloat64(d, x *byte, blocks int)
TEXT ·evenFloat64(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VROUNDPD $8, Y0, Y2
	END

// func floatOfInt32(d, x *byte, blocks int)
TEXT ·floatOfInt32(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VCVTDQ2PS Y0, Y2
	END

// func copyBits(d, x *byte, blocks int)
TEXT ·copyBits(SB), NOSPLIT, $0-24
	START
	MOVQ blocks+16(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVAPS Y0, Y2
	END

// func mulAddFloat32(d, x, y, z *byte, blocks int)
TEXT ·mulAddFloat32(SB), NOSPLIT, $0-40
	START
	MOVQ y+16(FP), DX
	MOVQ z+24(FP), BX
	MOVQ blocks+32(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMOVUPS (BX)(AX*1), Y2
	VMULPS Y1, Y0, Y3
	VADDPS Y2, Y3, Y2
	END

// func mulAddFloat64(d, x, y, z *byte, blocks int)
TEXT ·mulAddFloat64(SB), NOSPLIT, $0-40
	START
	MOVQ y+16(FP), DX
	MOVQ z+24(FP), BX
	MOVQ blocks+32(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMOVUPS (BX)(AX*1), Y2
	VMULPD Y1, Y0, Y3
	VADDPD Y2, Y3, Y2
	END

// func chooseWord32(d, x, y, z *byte, blocks int)
TEXT ·chooseWord32(SB), NOSPLIT, $0-40
	START
	MOVQ y+16(FP), DX
	MOVQ z+24(FP), BX
	MOVQ blocks+32(FP), CX

next:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMOVUPS (BX)(AX*1), Y2
	VPXOR Y3, Y3, Y3
	VPCMPEQD Y3, Y0, Y3
	VBLENDVPS Y3, Y2, Y1, Y2
	END

// func equalFloat64(d, x, y *byte, blocks int)
TEXT ·equalFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	COMPARE64($0)
	END

// func unequalFloat64(d, x, y *byte, blocks int)
TEXT ·unequalFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	COMPARE64($4)
	END

// func lessFloat64(d, x, y *byte, blocks int)
TEXT ·lessFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	COMPARE64($1)
	END

// func atMostFloat64(d, x, y *byte, blocks int)
TEXT ·atMostFloat64(SB), NOSPLIT, $0-32
	START
	MOVQ y+16(FP), DX
	MOVQ blocks+24(FP), CX

next:
	COMPARE64($2)
	END

// func chooseWord64(d, x, y, z *byte, blocks int)
TEXT ·chooseWord64(SB), NOSPLIT, $0-40
	START
	MOVQ y+16(FP), DX
	MOVQ z+24(FP), BX
	MOVQ blocks+32(FP), CX

next:
	VPMOVZXDQ (SI), Y0
	ADDQ $16, SI
	VMOVUPS (DX)(AX*1), Y1
	VMOVUPS (BX)(AX*1), Y2
	VPXOR Y3, Y3, Y3
	VPCMPEQQ Y3, Y0, Y3
	VBLENDVPD Y3, Y2, Y1, Y2
	END
