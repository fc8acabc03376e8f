#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/stored.glsl"

// A product of few k: what counts is writing the results at full speed. An invocation sums
// ROWS × W results, of which W are neighbours in memory; nothing but the elements of A is
// shared, since an element of B is used by one invocation.
//
// Order of a sum: the plain chain c = a[k]·b[k] + c in the order of k, from +0, as the tiles
// have it.
//
// The elements of B may lie anywhere: neighbours in n, in k, or neither.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint COLS = 4;    // W: the results of an invocation are ROWS × COLS
layout(constant_id = 2) const uint ROWS = 8;    // of A, or more, of which the last repeats
layout(constant_id = 8) const uint ALIGNED = 6; // bits: 2 rows of B and 4 rows of C begin at 16 bytes; 8: see DIRECT

#define PARAMETERS                                                 \
    uint m, n, k;                                                  \
    uint row_a, col_a;         /* elements between m and between k */ \
    uint row_b, col_b;         /* elements between k and between n */ \
    uint batch_a, batch_b;     /* elements between matrices */     \
    uint batches;              /* in all */                        \
    uint first;                /* the batch of workgroup z = 0 */  \
    uint start;                /* the block of workgroup 0 */

#include "lib/memory.glsl"

STORED_LOADS

const uint THREADS = gl_WorkGroupSize.x;
const bool ALIGNED_B = (ALIGNED & 2) != 0;
const bool ALIGNED_C = (ALIGNED & 4) != 0;
const bool DIRECT = (ALIGNED & 12) == 12; // invocations store their own sums

const uint SLICE = 32;  // of k, whose elements of A are shared at a time
const uint AHEAD = 4;   // of k, whose elements of B are loaded before the first is used

shared TV slice_a[SLICE * ROWS / V]; // by k
shared TV sums[THREADS * W / V];     // one row of every invocation, on the way out

// spread_b has the W elements of B that are step apart, of which the last repeats.
RAW spread_b(const uint i, const uint step, const uint room) {
    RAW r = RAW(0);
    [[unroll]] for (uint j = 0; j < W; j++) {
        const uint at = i + min(j, room) * step;
#if defined(STORED)
        r[j / STORED_PER] |= uint(InElement(uint64_t(p.b) + uint64_t(at) * STORED).v) << (j % STORED_PER * STORED_BITS);
#else
        r[j] = B_ONE(at);
#endif
    }
    return r;
}

T element_a(const uint i) {
#if defined(STORED)
    return element(RAW(InElement(uint64_t(p.a) + uint64_t(i) * STORED).v), 0);
#else
    return A_ONE(i);
#endif
}

#define LOAD(to, at)                                                             \
    to = ALIGNED_B ? raw_b(at, true, W) : spread_b(at, p.col_b, room);

#define ADD(from, k)                                                             \
    [[unroll]] for (uint q = 0; q < ROWS / V; q++) {                             \
        const TV left = slice_a[(k) * (ROWS / V) + q];                              \
        [[unroll]] for (uint i = 0; i < V; i++)                                  \
            [[unroll]] for (uint j = 0; j < W; j++)                              \
                sum[(q * V + i) * W + j] = MULADD(left[i], element(from, j), sum[(q * V + i) * W + j]); \
    }

void main() {
    const uint t = gl_LocalInvocationIndex;
    const uint z = gl_WorkGroupID.z + p.first, batch = z % p.batches;
    const uint block = p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint down = (p.m + ROWS - 1) / ROWS; // blocks of the same columns follow each other
    const uint m0 = block % down * ROWS, n0 = block / down * (THREADS * W);
    if (n0 >= p.n) return;
    const uint n = n0 + t * W;
    const uint a = batch * p.batch_a, b = batch * p.batch_b;
    const uint own = min(n, p.n - 1), room = p.n - 1 - own;
    const uint from = b + (ALIGNED_B ? own / W * W : own * p.col_b);

    precise T sum[ROWS * W];
    [[unroll]] for (uint i = 0; i < ROWS * W; i++) sum[i] = T(0);
    for (uint k0 = 0; k0 < p.k; k0 += SLICE) {
        const uint count = min(SLICE, p.k - k0);
        barrier();
        for (uint e = t; e < count * ROWS; e += THREADS)
            slice_a[e / V][e % V] = element_a(a + min(m0 + e % ROWS, p.m - 1) * p.row_a + (k0 + e / ROWS) * p.col_a);
        barrier();
        uint k = 0, at = from + k0 * p.row_b;
        for (; k + AHEAD <= count; k += AHEAD, at += AHEAD * p.row_b) {
            RAW x[AHEAD];
            [[unroll]] for (uint u = 0; u < AHEAD; u++) {
                LOAD(x[u], at + u * p.row_b)
            }
            [[unroll]] for (uint u = 0; u < AHEAD; u++) {
                ADD(x[u], k + u)
            }
        }
        for (; k < count; k++, at += p.row_b) {
            RAW x;
            LOAD(x, at)
            ADD(x, k)
        }
    }

    const uint to = (z * p.m + m0) * p.n;
    if (DIRECT) {
        [[unroll]] for (uint i = 0; i < ROWS; i++)
            [[unroll]] for (uint q = 0; q < W / V; q++) {
                if (m0 + i >= p.m || n + q * V >= p.n) continue;
                TV v;
                [[unroll]] for (uint j = 0; j < V; j++) v[j] = sum[i * W + q * V + j];
                put_vec((to + i * p.n + n) / V + q, v);
            }
        return;
    }
    const uint PART = ALIGNED_C ? V : 1; // elements that are stored at once
    [[dont_unroll]] for (uint turn = 0; turn < min(ROWS, p.m - m0); turn++) {
        barrier();
        [[unroll]] for (uint i = 0; i < ROWS; i++) {
            if (i != turn) continue;
            [[unroll]] for (uint q = 0; q < W / V; q++) {
                TV v;
                [[unroll]] for (uint j = 0; j < V; j++) v[j] = sum[i * W + q * V + j];
                sums[t * (W / V) + q] = v;
            }
        }
        barrier();
        [[dont_unroll]] for (uint e = t * PART; e < THREADS * W; e += THREADS * PART) {
            if (n0 + e >= p.n) continue;
            const uint at = to + turn * p.n + n0 + e;
            const TV v = sums[e / V];
            if (ALIGNED_C) put_vec(at / V, v);
            else put_one(at, v[e % V]);
        }
    }
}
