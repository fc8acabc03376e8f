// Elements of operands as memory has them: of the type of the sums, or of a narrower type,
// where one of BF16, F16, S8 and U8 is defined. A narrow type is loaded in 16 bytes and
// converted in registers. Its kernels reach memory by address.
//
//   W                        elements of 16 bytes
//   RAW                      the 16 bytes
//   raw_a(i, aligned, room)  W elements of a from element i on, those after room as zeros;
//                            an aligned i is a multiple of W, and has room for all
//   raw_b(i, aligned, room)  the same of b
//   element(raw, j)          element j of them, as T
//   element_b(i)             element i of b, as T
//
// This file defines the type of the sums, so it comes before memory.glsl; STORED_LOADS
// defines the functions, after it.

#ifndef NXVK_STORED
#define NXVK_STORED

#if defined(BF16) || defined(F16)
#define F32
#define STORED 2
#elif defined(S8) || defined(U8)
#define U32
#define STORED 1
#endif

#include "types.glsl"

#if defined(STORED)

#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require

#define W (16 / STORED)
#define RAW uvec4

layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer InBlock { uvec4 v; };
#if STORED == 2
layout(buffer_reference, std430, buffer_reference_align = 2) restrict readonly buffer InElement { uint16_t v; };
#else
layout(buffer_reference, std430, buffer_reference_align = 1) restrict readonly buffer InElement { uint8_t v; };
#endif

#define STORED_BITS (8 * STORED)
#define STORED_PER (4 / STORED) // in 32 bits

RAW stored_block(uint64_t base, uint i, bool aligned, uint room) {
    if (aligned) return InBlock(base + uint64_t(i) * STORED).v;
    RAW r = RAW(0);
    [[unroll]] for (uint j = 0; j < W; j++) {
        const bool within = j < room;
        const uint x = uint(InElement(base + uint64_t(i + (within ? j : 0)) * STORED).v);
        r[j / STORED_PER] |= (within ? x : 0) << (j % STORED_PER * STORED_BITS);
    }
    return r;
}

// element takes its bits where a vector of 32 bits has them.
T element(RAW r, uint j) {
    const uint word = r[j / STORED_PER];
#if defined(BF16)
    return uintBitsToFloat(j % 2 == 0 ? word << 16 : word & 0xffff0000u);
#elif defined(F16)
    return unpackHalf2x16(word)[j % 2];
#elif defined(S8)
    return uint(bitfieldExtract(int(word), int(j % 4 * 8), 8));
#else
    return bitfieldExtract(word, int(j % 4 * 8), 8);
#endif
}

#define STORED_LOADS                                                                          \
    RAW raw_a(uint i, bool aligned, uint room) { return stored_block(uint64_t(p.a), i, aligned, room); } \
    RAW raw_b(uint i, bool aligned, uint room) { return stored_block(uint64_t(p.b), i, aligned, room); } \
    T element_b(uint i) { return element(RAW(InElement(uint64_t(p.b) + uint64_t(i) * STORED).v), 0); }

#else

#define W V
#define RAW TV

T element(RAW r, uint j) { return r[j]; }

#define STORED_LOAD(name, one, vec)                                  \
    RAW name(uint i, bool aligned, uint room) {                      \
        if (aligned) return vec(i / V);                              \
        RAW r;                                                       \
        [[unroll]] for (uint j = 0; j < V; j++) {                    \
            const bool within = j < room;                            \
            const T x = one(i + (within ? j : 0));                   \
            r[j] = within ? x : T(0);                                \
        }                                                            \
        return r;                                                    \
    }

#define STORED_LOADS                   \
    STORED_LOAD(raw_a, A_ONE, A_VEC)   \
    STORED_LOAD(raw_b, B_ONE, B_VEC)   \
    T element_b(uint i) { return B_ONE(i); }

#endif
#endif
