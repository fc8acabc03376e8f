#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#include "lib/operands.glsl"
#include "lib/types.glsl"

#define BUFFERS 1
#define SLICE_A TILE_K
#define SLICE_B TILE_K

#include "lib/matrix.glsl"

// A matrix product on matrix hardware through one buffer of shared memory: the next slices
// are loaded into registers while the present ones are multiplied, then take their place
// between two barriers.

#define STEP                                                                     \
    LOAD_A(next_a, 0, false, true)                                               \
    LOAD_B(next_b, 0, false, true)                                               \
    PLACE_NEXT                                                                   \
    MULTIPLY_SLICE                                                               \
    barrier();                                                                   \
    STORE_A(0, next_a)                                                           \
    STORE_B(0, next_b)                                                           \
    barrier();

// Two steps are one round of the loop where a step is little code: drivers overlap them.
const bool TWICE = (ALIGNED & 3) == 3 && GATHERED == 0;

void main() {
    MATRIX_LOCALS
    uvec4 next_a[COUNT_A], next_b[COUNT_B];
    const uint steps = (uint(k_count) + TILE_K - 1) / TILE_K;
    const int pad = int(steps * TILE_K) - k_count;
    MATRIX_BEGIN(pad)
    LOAD_A(next_a, -pad, true, true)
    LOAD_B(next_b, -pad, true, true)
    PLACE_NEXT
    STORE_A(0, next_a)
    STORE_B(0, next_b)
    barrier();
    uint t = 1;
    if (TWICE) {
        for (; t + 1 < steps; t += 2) {
            STEP
            STEP
        }
        if (t < steps) {
            STEP
        }
    } else {
        for (; t < steps; t++) {
            STEP
        }
    }
    MULTIPLY_SLICE
    MATRIX_END
}
