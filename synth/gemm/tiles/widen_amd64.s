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

// Y0 and Y1 are sums of eight columns each, to which products of four rows are added in turn. A product is rounded before
// it is added; integers wrap. The rows of the next call but one are fetched meanwhile, since they are too far apart for
// the processor to expect them.
#define ROW(load, size, after, mul, add, at, number) \
	PREFETCHT0 (at)(R11*1) \
	load 0(at), Y2 \
	load (8*size)(at), Y3 \
	after(Y2) \
	after(Y3) \
	mul Y2, number, Y2 \
	mul Y3, number, Y3 \
	add Y2, Y0, Y0 \
	add Y3, Y1, Y1

#define ROWS(load, size, after, mul, add) \
	MOVQ count+0(FP), CX \
	MOVQ step+8(FP), DX \
	MOVQ a+16(FP), BX \
	MOVQ from+24(FP), SI \
	MOVQ sums+32(FP), DI \
	LEAQ (SI)(DX*1), R8 \
	LEAQ (SI)(DX*2), R9 \
	LEAQ (R8)(DX*2), R10 \
	LEAQ (DX*8), R11 \
	VBROADCASTSS 0(BX), Y12 \
	VBROADCASTSS 4(BX), Y13 \
	VBROADCASTSS 8(BX), Y14 \
	VBROADCASTSS 12(BX), Y15 \
next: \
	VMOVUPS 0(DI), Y0 \
	VMOVUPS 32(DI), Y1 \
	ROW(load, size, after, mul, add, SI, Y12) \
	ROW(load, size, after, mul, add, R8, Y13) \
	ROW(load, size, after, mul, add, R9, Y14) \
	ROW(load, size, after, mul, add, R10, Y15) \
	VMOVUPS Y0, 0(DI) \
	VMOVUPS Y1, 32(DI) \
	ADDQ $(16*size), SI \
	ADDQ $(16*size), R8 \
	ADDQ $(16*size), R9 \
	ADDQ $(16*size), R10 \
	ADDQ $64, DI \
	SUBQ $16, CX \
	JNZ next \
	VZEROUPPER \
	RET

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

// func rowsBF16(count, step int, a *float32, from *byte, sums *float32)
TEXT ·rowsBF16(SB), NOSPLIT, $0-40
	ROWS(VPMOVZXWD, 2, TOP, VMULPS, VADDPS)

// func rowsF32(count, step int, a *float32, from *byte, sums *float32)
TEXT ·rowsF32(SB), NOSPLIT, $0-40
	ROWS(VMOVUPS, 4, NOTHING, VMULPS, VADDPS)

// func rowsF16(count, step int, a *float32, from *byte, sums *float32)
TEXT ·rowsF16(SB), NOSPLIT, $0-40
	ROWS(VCVTPH2PS, 2, NOTHING, VMULPS, VADDPS)

// func rowsS8(count, step int, a *uint32, from *byte, sums *uint32)
TEXT ·rowsS8(SB), NOSPLIT, $0-40
	ROWS(VPMOVSXBD, 1, NOTHING, VPMULLD, VPADDD)

// func rowsU8(count, step int, a *uint32, from *byte, sums *uint32)
TEXT ·rowsU8(SB), NOSPLIT, $0-40
	ROWS(VPMOVZXBD, 1, NOTHING, VPMULLD, VPADDD)
