#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

// A product with at most eight columns and rows that are contiguous in k:
// matrix times vector, and dot products. What counts is reading A once at full
// speed, so a workgroup takes ROWS rows, its invocations share out k, and the
// shares are added pairwise through shared memory.
//
// Order of a sum: invocation t adds the products of vectors t, t + THREADS, …
// of V elements in order, elements one after the other; then invocation t adds
// that of t + THREADS/2, and so on by halves.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROWS = 4;    // of A, a workgroup
layout(constant_id = 2) const uint COLS = 1;    // of B
layout(constant_id = 3) const uint ALIGNED = 1; // 1: rows of A begin at 16 bytes
layout(constant_id = 4) const uint THREADS = 128;

#define PARAMETERS                                                 \
    uint m, n, k;                                                  \
    uint lda;                  /* elements between rows of A */    \
    uint row_b, col_b;         /* elements between k and between n */ \
    uint batch_a, batch_b;     /* elements between matrices */     \
    uint batches;              /* in all; chunks of k repeat them */ \
    uint first;                /* the batch of workgroup z = 0 */  \
    uint start;                /* the rows of workgroup 0, in ROWS */ \
    uint chunk;                /* k a workgroup sums, of V's multiples */ \
    uint row_c, col_c;         /* elements between results */

#include "lib/memory.glsl"

shared T share[THREADS * ROWS * COLS];

TV row_of_a(uint i, uint k_left) {
    if (ALIGNED != 0) return A_VEC(i / V);
    TV v = TV(0);
    [[unroll]] for (uint j = 0; j < V; j++)
        if (j < k_left) v[j] = A_ONE(i + j);
    return v;
}

void main() {
    const uint t = gl_LocalInvocationIndex;
    const uint z = gl_WorkGroupID.z + p.first;
    const uint batch = z % p.batches;
    const uint k_begin = (z / p.batches) * p.chunk;
    const uint k_end = min(k_begin + p.chunk, p.k);
    const uint m0 = (p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS;
    const uint a = batch * p.batch_a, b = batch * p.batch_b;

    precise T sum[ROWS * COLS];
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) sum[i] = T(0);
    for (uint k = k_begin + t * V; k < k_end; k += THREADS * V) {
        TV va[ROWS], vb[COLS];
        [[unroll]] for (uint i = 0; i < ROWS; i++)
            va[i] = row_of_a(a + min(m0 + i, p.m - 1) * p.lda + k, k_end - k);
        [[unroll]] for (uint c = 0; c < COLS; c++) {
            vb[c] = TV(0);
            [[unroll]] for (uint j = 0; j < V; j++)
                if (ALIGNED != 0 || k + j < k_end) vb[c][j] = B_ONE(b + (k + j) * p.row_b + c * p.col_b);
        }
        [[unroll]] for (uint i = 0; i < ROWS; i++)
            [[unroll]] for (uint c = 0; c < COLS; c++)
                [[unroll]] for (uint j = 0; j < V; j++)
                    sum[i * COLS + c] = MULADD(va[i][j], vb[c][j], sum[i * COLS + c]);
    }

    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) share[i * THREADS + t] = sum[i];
    barrier();
    for (uint reach = THREADS / 2; reach > 0; reach /= 2) {
        if (t < reach) {
            [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
                precise T s = share[i * THREADS + t] + share[i * THREADS + t + reach];
                share[i * THREADS + t] = s;
            }
        }
        barrier();
    }
    if (t < ROWS * COLS) {
        const uint i = t / COLS, c = t % COLS;
        if (m0 + i < p.m) put_one(z * p.m * p.n + (m0 + i) * p.row_c + c * p.col_c, share[t * THREADS]);
    }
}
