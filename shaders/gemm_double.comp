#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

#define WIDE (COLS > ROWS)
#define TILE_ADVANCE WIDE
#define TILE_SWIZZLE true
#define TILE_MULTIPLY(fa, fb)                                                    \
    if (WIDE) {                                                                  \
        [[unroll]] for (uint j = 0; j < COLS; j++)                               \
            [[unroll]] for (uint i = 0; i < ROWS; i++)                           \
                TILE_PRODUCT(fa, fb, (j % 2 == 0 ? i : ROWS - 1 - i), j)         \
    } else {                                                                     \
        [[unroll]] for (uint i = 0; i < ROWS; i++)                               \
            [[unroll]] for (uint j = 0; j < COLS; j++)                           \
                TILE_PRODUCT(fa, fb, i, (i % 2 == 0 ? j : COLS - 1 - j))         \
    }

#include "lib/tile.glsl"

// A matrix product through two buffers of shared memory, two steps ahead: at
// the top of a step the slices loaded during the step before go to the idle
// buffer and the loads of the step after the next are issued; one barrier a
// step. The fragments of a step's first k are read before the products of the
// last k of the step before, which hides the barrier. Unrolled by two, so that
// every address in shared memory is a constant away from one register; the
// number of steps is therefore even, the pad before k taking up the slack.

shared TV shared_a[2 * TILE_K * WIDTH_A];
shared TV shared_b[2 * TILE_K * WIDTH_B];

// MULTIPLY_SLICE multiplies the slices in a half, whose first fragments are in
// fa[0] and fb[0], and leaves the first fragments of the other half there.
#define MULTIPLY_SLICE(half)                                                     \
    [[unroll]] for (uint k = 0; k + 1 < TILE_K; k++) {                           \
        TILE_FRAGMENT(ga, gb, half, k + 1)                                       \
        TILE_MULTIPLY(fa, fb)                                                    \
        [[unroll]] for (uint q = 0; q < QM; q++) fa[q] = ga[q];                  \
        [[unroll]] for (uint q = 0; q < QN; q++) fb[q] = gb[q];                  \
    }                                                                            \
    barrier();                                                                   \
    TILE_FRAGMENT(ga, gb, 1 - half, 0)                                           \
    TILE_MULTIPLY(fa, fb)                                                        \
    [[unroll]] for (uint q = 0; q < QM; q++) fa[q] = ga[q];                      \
    [[unroll]] for (uint q = 0; q < QN; q++) fb[q] = gb[q];

void main() {
    TILE_LOCALS
    const uint tiles = 2 * ((uint(k_count) + 2 * TILE_K - 1) / (2 * TILE_K));
    TILE_BEGIN(tiles)
    TV fa[QM], fb[QN], ga[QM], gb[QN];
    TILE_LOAD(0, true)
    TILE_STORE(0)
    TILE_LOAD(1, true)
    barrier();
    TILE_FRAGMENT(fa, fb, 0, 0)
    for (uint t = 2; t < tiles; t += 2) {
        TILE_STORE(1)
        TILE_LOAD(t, false)
        MULTIPLY_SLICE(0)
        TILE_STORE(0)
        TILE_LOAD((t + 1), false)
        MULTIPLY_SLICE(1)
    }
    TILE_STORE(1)
    MULTIPLY_SLICE(0)
    [[unroll]] for (uint k = 0; k + 1 < TILE_K; k++) {
        TILE_FRAGMENT(ga, gb, 1, k + 1)
        TILE_MULTIPLY(fa, fb)
        [[unroll]] for (uint q = 0; q < QM; q++) fa[q] = ga[q];
        [[unroll]] for (uint q = 0; q < QN; q++) fb[q] = gb[q];
    }
    TILE_MULTIPLY(fa, fb)
    TILE_END
}
