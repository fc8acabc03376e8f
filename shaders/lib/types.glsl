// The element type of a product, chosen by one of F32, F64, U32, U64. Signed
// integers use the unsigned variants: products and sums wrap to the same bits.
//
//   T     one element
//   TV    the vector of 16 bytes that memory moves best, of V elements
//   T4    four elements
//   MULADD(a, b, c)   a·b + c, rounded once where the device fuses

#ifndef NXVK_TYPES
#define NXVK_TYPES

#if defined(F32)
#define T float
#define T4 vec4
#define TV vec4
#define V 4
#define SIZE 4
#define MULADD(a, b, c) fma(a, b, c)
#elif defined(F64)
#define T double
#define T4 dvec4
#define TV dvec2
#define V 2
#define SIZE 8
#define MULADD(a, b, c) fma(a, b, c)
#elif defined(U32)
#define T uint
#define T4 uvec4
#define TV uvec4
#define V 4
#define SIZE 4
#define MULADD(a, b, c) ((a) * (b) + (c))
#elif defined(U64)
#define T uint64_t
#define T4 u64vec4
#define TV u64vec2
#define V 2
#define SIZE 8
#define MULADD(a, b, c) ((a) * (b) + (c))
#else
#error "an element type must be defined"
#endif

#endif
