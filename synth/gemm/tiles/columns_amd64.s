#include "textflag.h"

// Y0 and Y1 are the sums of eight columns each. Four elements of eight columns are transposed: X2 to X5 get those of the
// first four columns, the upper halves those of the others, and then each register has one element of every column. A
// product is rounded before it is added.

#define TRANSPOSE(first, second, out0, out1, out2, out3) \
	VMOVUPS (first), X2 \
	VINSERTF128 $1, (second), Y2, Y2 \
	VMOVUPS (first)(DX*1), X3 \
	VINSERTF128 $1, (second)(DX*1), Y3, Y3 \
	VMOVUPS (first)(DX*2), X4 \
	VINSERTF128 $1, (second)(DX*2), Y4, Y4 \
	VMOVUPS (first)(R9*1), X5 \
	VINSERTF128 $1, (second)(R9*1), Y5, Y5 \
	VUNPCKLPS Y3, Y2, Y6 \
	VUNPCKHPS Y3, Y2, Y7 \
	VUNPCKLPS Y5, Y4, Y8 \
	VUNPCKHPS Y5, Y4, Y9 \
	VSHUFPS $0x44, Y8, Y6, out0 \
	VSHUFPS $0xEE, Y8, Y6, out1 \
	VSHUFPS $0x44, Y9, Y7, out2 \
	VSHUFPS $0xEE, Y9, Y7, out3

#define ADD(at, first, second) \
	VBROADCASTSS at(BX), Y14 \
	VMULPS first, Y14, Y15 \
	VADDPS Y15, Y0, Y0 \
	VMULPS second, Y14, Y14 \
	VADDPS Y14, Y1, Y1

// func columnsFloat32(fours, step int, a, b, sums *float32)
TEXT ·columnsFloat32(SB), NOSPLIT, $0-40
	MOVQ fours+0(FP), CX
	MOVQ step+8(FP), DX
	MOVQ a+16(FP), BX
	MOVQ b+24(FP), SI
	MOVQ sums+32(FP), AX
	LEAQ (DX)(DX*2), R9
	LEAQ (SI)(DX*4), R8
	LEAQ (SI)(DX*8), R10
	LEAQ (R8)(DX*8), R11
	VMOVUPS 0(AX), Y0
	VMOVUPS 32(AX), Y1
	TESTQ CX, CX
	JLE done

next:
	TRANSPOSE(SI, R8, Y10, Y11, Y12, Y13)
	TRANSPOSE(R10, R11, Y2, Y3, Y4, Y5)
	ADD(0, Y10, Y2)
	ADD(4, Y11, Y3)
	ADD(8, Y12, Y4)
	ADD(12, Y13, Y5)
	ADDQ $16, SI
	ADDQ $16, R8
	ADDQ $16, R10
	ADDQ $16, R11
	ADDQ $16, BX
	DECQ CX
	JNZ next

done:
	VMOVUPS Y0, 0(AX)
	VMOVUPS Y1, 32(AX)
	VZEROUPPER
	RET

// func packFloat32(fours, step int, b, to *float32)
TEXT ·packFloat32(SB), NOSPLIT, $0-32
	MOVQ fours+0(FP), CX
	MOVQ step+8(FP), DX
	MOVQ b+16(FP), SI
	MOVQ to+24(FP), DI
	LEAQ (DX)(DX*2), R9
	LEAQ (SI)(DX*4), R8
	LEAQ (SI)(DX*8), R10
	LEAQ (R8)(DX*8), R11
	TESTQ CX, CX
	JLE done

next:
	TRANSPOSE(SI, R8, Y10, Y11, Y12, Y13)
	TRANSPOSE(R10, R11, Y2, Y3, Y4, Y5)
	VMOVUPS Y10, 0(DI)
	VMOVUPS Y2, 32(DI)
	VMOVUPS Y11, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y12, 128(DI)
	VMOVUPS Y4, 160(DI)
	VMOVUPS Y13, 192(DI)
	VMOVUPS Y5, 224(DI)
	ADDQ $16, SI
	ADDQ $16, R8
	ADDQ $16, R10
	ADDQ $16, R11
	ADDQ $256, DI
	DECQ CX
	JNZ next

done:
	VZEROUPPER
	RET
