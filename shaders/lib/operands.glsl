// The element type of operands that matrix hardware multiplies, chosen by one of F16,
// BF16, S8 and U8, and the type of the sums, which types.glsl defines.
//
//   OT    one element of an operand
//   AT    one sum
//   E     elements of 16 bytes, and LOG_E its logarithm

#ifndef NXVK_OPERANDS
#define NXVK_OPERANDS

#if defined(F16)
#define OT float16_t
#define AT float
#define E 8
#define LOG_E 3
#define F32
#elif defined(BF16)
#extension GL_EXT_bfloat16 : require
#define OT bfloat16_t
#define AT float
#define E 8
#define LOG_E 3
#define F32
#elif defined(S8)
#define OT int8_t
#define AT int
#define E 16
#define LOG_E 4
#define U32
#elif defined(U8)
#define OT uint8_t
#define AT uint
#define E 16
#define LOG_E 4
#define U32
#else
#error "a type of operands must be defined"
#endif

#endif
