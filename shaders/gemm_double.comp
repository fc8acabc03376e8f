#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

#define WIDE (COLS > ROWS)
#define TILE_ADVANCE WIDE
#define TILE_ON(step, far) ((step) + 1 < tiles ? far : 0)
#define TILE_SWIZZLE true
#define TILE_HALVES 2
#define TILE_MULTIPLY(fa, fb)                                                    \
    [[unroll]] for (uint o = 0; o < (WIDE ? COLS : ROWS); o++)                   \
        [[unroll]] for (uint r = 0; r < (WIDE ? ROWS : COLS); r++) {             \
            const uint turned = o % 2 == 0 ? r : (WIDE ? ROWS : COLS) - 1 - r;   \
            TILE_PRODUCT(fa, fb, (WIDE ? turned : o), (WIDE ? o : turned))       \
        }

#include "lib/tile.glsl"

// A matrix product through two buffers of shared memory, two steps ahead: at
// the top of a step the slices loaded during the step before go to the idle
// buffer and the loads of the step after the next are issued; one barrier a
// step. The fragments of a step's first k are read before the products of the
// last k of the step before, which hides the barrier. For elements of 64 bits it is
// unrolled by two, so that every address in shared memory is a constant away from one
// register; the number of steps is therefore even, the pad before k taking up the slack.
// The last round loads the last step again and multiplies it no more. Code of its own for
// the end would double what a driver compiles, and so would unrolling the wider tiles of
// 32 bits: more than half a second.

shared TV shared_a[2 * TILE_K * WIDTH_A];
shared TV shared_b[2 * TILE_K * WIDTH_B];

// MULTIPLY_SLICE multiplies the slices in a half, whose first fragments are in
// fa and fb, and leaves the first fragments of the other half there.
#define MULTIPLY_SLICE(half)                                                     \
    [[unroll]] for (uint k = 0; k < TILE_K; k++) {                               \
        if (k + 1 == TILE_K) barrier();                                          \
        TILE_FRAGMENT(ga, gb, (k + 1 < TILE_K ? half : 1 - half), (k + 1) % TILE_K) \
        TILE_MULTIPLY(fa, fb)                                                    \
        [[unroll]] for (uint q = 0; q < QM; q++) fa[q] = ga[q];                  \
        [[unroll]] for (uint q = 0; q < QN; q++) fb[q] = gb[q];                  \
    }

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
#if SIZE == 8
    for (uint t = 2; t <= tiles; t += 2) {
        [[unroll]] for (uint h = 0; h < 2; h++) {
            TILE_STORE((1 - h))
            TILE_LOAD(min(t + h, tiles - 1), false)
            MULTIPLY_SLICE(h)
        }
    }
#else
    [[dont_unroll]] for (uint t = 2; t < tiles + 2; t++) {
        const uint h = t & 1;
        TILE_STORE((1 - h))
        TILE_LOAD(min(t, tiles - 1), false)
        MULTIPLY_SLICE(h)
    }
#endif
    TILE_END
}
