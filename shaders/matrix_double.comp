#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#include "lib/operands.glsl"
#include "lib/types.glsl"

#define BUFFERS 2
#define SLICE_A (2 * MK)
#define SLICE_B MK

#include "lib/matrix.glsl"

// A matrix product on matrix hardware through two buffers of shared memory, for large tiles
// of aligned operands. A step multiplies MK of k; a slice of A is that of two steps. While a
// step multiplies, the matrices of the next step come from shared memory, its successor is
// stored there, and the slices after that are on their way from memory. One barrier a step.
//
// Four steps are a round of the main loop, so that the numbers of buffers and registers are
// constants. What k has beyond whole rounds comes first, padded with zeros, two steps at a
// time without overlap.

#define STEP(u)                                                                  \
    if (u % 2 == 0) {                                                            \
        STORE_A((u / 2 + 1) % 2, next_a)                                         \
        LOAD_A(next_a, 0, false, s + u + 4 < steps - 2)                          \
    }                                                                            \
    STORE_B((u + 1) % 2, next_b[(u + 1) % 2])                                    \
    LOAD_B(next_b[(u + 1) % 2], 0, false, s + u + 3 < steps - 1)                 \
    barrier();                                                                   \
    FRAGMENTS(fa[(u + 1) % 2], fb[(u + 1) % 2], (u + 1) / 2 % 2, (u + 1) % 2 * MK, (u + 1) % 2, 0) \
    MULTIPLY(fa[u % 2], fb[u % 2])

void main() {
    MATRIX_LOCALS
    uvec4 next_a[COUNT_A], next_b[2][COUNT_B];
    MatrixA fa[2][FM];
    MatrixB fb[2][FN];
    const uint slices_a = (uint(k_count) + SLICE_A - 1) / SLICE_A;
    const int pad = int(slices_a * SLICE_A) - k_count;
    const uint head = slices_a % 2 + (pad > 0 && slices_a % 2 == 0 ? 2 : 0);
    const uint steps = 2 * (slices_a - head);
    MATRIX_BEGIN(pad)
    for (uint h = 0; h < head; h++) {
        const int k = int(h * SLICE_A) - pad;
        LOAD_A(next_a, k, true, h + 1 < slices_a)
        LOAD_B(next_b[0], k, true, true)
        LOAD_B(next_b[1], k + int(MK), true, h + 1 < slices_a)
        barrier();
        STORE_A(0, next_a)
        STORE_B(0, next_b[0])
        STORE_B(1, next_b[1])
        barrier();
        [[unroll]] for (uint u = 0; u < 2; u++) {
            FRAGMENTS(fa[0], fb[0], 0, u * MK, u, 0)
            MULTIPLY(fa[0], fb[0])
        }
    }
    if (steps > 0) {
        barrier();
        LOAD_A(next_a, 0, false, true)
        LOAD_B(next_b[0], 0, false, true)
        STORE_A(0, next_a)
        STORE_B(0, next_b[0])
        LOAD_A(next_a, 0, false, 2 < steps - 2)
        LOAD_B(next_b[1], 0, false, true)
        LOAD_B(next_b[0], 0, false, 2 < steps - 1)
        barrier();
        FRAGMENTS(fa[0], fb[0], 0, 0, 0, 0)
        for (uint s = 0; s < steps; s += 4) {
            STEP(0)
            STEP(1)
            STEP(2)
            STEP(3)
        }
    }
    MATRIX_END
}
