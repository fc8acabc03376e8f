#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/stored.glsl"

// A product with at most eight columns and columns of A that are contiguous in m: a vector
// times a matrix. A workgroup takes BLOCKS blocks of W rows; each of its SLOTS rows of
// invocations adds every SLOTS-th k, UNROLL of them in flight, and the sums of the slots are
// added pairwise through shared memory.
//
// Order of a sum: slot s adds k = s, s + SLOTS, … in order; then slot s adds the sum of
// s + SLOTS/2, and so on by halves.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint BLOCKS = 8;
layout(constant_id = 2) const uint SLOTS = 64;
layout(constant_id = 3) const uint COLS = 1;    // of B, or more, of which the last repeats
layout(constant_id = 4) const uint ALIGNED = 1; // 1: columns of A begin at 16 bytes
layout(constant_id = 5) const uint UNROLL = 4;

#include "lib/vectors.glsl"

const uint THREADS = BLOCKS * SLOTS;

shared T share[W * THREADS];           // of one column
shared T total[COLS * BLOCKS * W];

// ADD adds the products of COUNT k, which lie SLOTS apart, in their order.
#define ADD(COUNT)                                                                 \
    {                                                                              \
        RAW ra[COUNT];                                                             \
        T x[COUNT * COLS];                                                         \
        [[unroll]] for (uint u = 0; u < COUNT; u++) {                              \
            ra[u] = raw_a(at + (k + u * SLOTS) * p.lda, ALIGNED_A, room);          \
            [[unroll]] for (uint c = 0; c < COLS; c++)                             \
                x[u * COLS + c] = element_b(b + (k + u * SLOTS) * p.row_b + min(c, p.n - 1) * p.col_b); \
        }                                                                          \
        [[unroll]] for (uint u = 0; u < COUNT; u++)                                \
            [[unroll]] for (uint c = 0; c < COLS; c++)                             \
                [[unroll]] for (uint j = 0; j < W; j++)                            \
                    sum[c * W + j] = MULADD(element(ra[u], j), x[u * COLS + c], sum[c * W + j]); \
    }

void main() {
    const uint t = gl_LocalInvocationIndex;
    const uint block = t % BLOCKS, slot = t / BLOCKS;
    VECTORS_LOCALS
    const uint m0 = group * BLOCKS * W;
    const uint row = m0 + block * W < p.m ? m0 + block * W : 0; // invocations beyond the end are idle
    const uint at = a + row, room = p.m - row;

    precise T sum[W * COLS];
    [[unroll]] for (uint i = 0; i < W * COLS; i++) sum[i] = T(0);
    uint k = k_begin + slot;
    for (; k + (UNROLL - 1) * SLOTS < k_end; k += UNROLL * SLOTS) ADD(UNROLL)
    for (; k < k_end; k += SLOTS) ADD(1)

    [[unroll]] for (uint c = 0; c < COLS; c++) {
        [[unroll]] for (uint j = 0; j < W; j++) share[j * THREADS + t] = sum[c * W + j];
        barrier();
        for (uint reach = THREADS / 2; reach >= BLOCKS; reach /= 2) {
            if (t < reach) {
                [[unroll]] for (uint j = 0; j < W; j++) {
                    precise T s = share[j * THREADS + t] + share[j * THREADS + t + reach];
                    share[j * THREADS + t] = s;
                }
            }
            barrier();
        }
        for (uint e = t; e < BLOCKS * W; e += THREADS) total[c * BLOCKS * W + e] = share[e % W * THREADS + e / W];
        barrier();
    }
    for (uint e = t; e < COLS * BLOCKS * W; e += THREADS) {
        const uint i = m0 + e % (BLOCKS * W), c = e / (BLOCKS * W);
        if (i < p.m && c < p.n) put_one(z * p.m * p.n + i * p.row_c + c * p.col_c, total[e]);
    }
}
