#include "textflag.h"

// WIDEN converts 16 numbers of size bytes in each round.
#define WIDEN(load, size, after) \
	MOVQ count+0(FP), CX \
	MOVQ from+8(FP), SI \
	MOVQ to+16(FP), DI \
next: \
	load 0(SI), Y0 \
	load (8*size)(SI), Y1 \
	after(Y0) \
	after(Y1) \
	VMOVUPS Y0, 0(DI) \
	VMOVUPS Y1, 32(DI) \
	ADDQ $(16*size), SI \
	ADDQ $64, DI \
	SUBQ $16, CX \
	JNZ next \
	VZEROUPPER \
	RET

#define NOTHING(y)
#define TOP(y) VPSLLD $16, y, y

// func widenBF16(count int, from *byte, to *float32)
TEXT ·widenBF16(SB), NOSPLIT, $0-24
	WIDEN(VPMOVZXWD, 2, TOP)

// func widenF16(count int, from *byte, to *float32)
TEXT ·widenF16(SB), NOSPLIT, $0-24
	WIDEN(VCVTPH2PS, 2, NOTHING)

// func widenS8(count int, from *byte, to *uint32)
TEXT ·widenS8(SB), NOSPLIT, $0-24
	WIDEN(VPMOVSXBD, 1, NOTHING)

// func widenU8(count int, from *byte, to *uint32)
TEXT ·widenU8(SB), NOSPLIT, $0-24
	WIDEN(VPMOVZXBD, 1, NOTHING)
