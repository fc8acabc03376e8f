#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/stored.glsl"

// A product of few k: what counts is writing the results at full speed. An invocation sums
// ROWS × W results; nothing but the elements of A is shared, since an element of B is used by
// one invocation. Its columns are neighbours where a row of C has whole vectors. Elsewhere they
// lie THREADS apart, so that invocations store neighbours.
//
// Order of a sum: the plain chain c = a[k]·b[k] + c in the order of k, from +0, as the tiles
// have it.
//
// The elements of B may lie anywhere: neighbours in n, in k, or neither. Beyond the edges the
// last row and column are summed again, and single elements stored again, to the same bits.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint COLS = 4;    // W: the results of an invocation are ROWS × COLS
layout(constant_id = 2) const uint ROWS = 8;    // of A, or more, of which the last repeats
layout(constant_id = 8) const uint ALIGNED = 6; // bits: 4 rows of C begin at 16 bytes, and 2 those of B as well; 8: see DIRECT

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
const bool DIRECT = (ALIGNED & 8) != 0; // there is code for every store

const uint SLICE = 32;  // of k, whose elements of A are shared at a time
const uint AHEAD = 4;   // of k, whose elements of B are loaded before the first is used

shared TV slice_a[SLICE * ROWS / V]; // by k

// column is that of sum j of invocation t.
uint column(const uint n0, const uint t, const uint j) {
    return min(n0 + (ALIGNED_C ? t * W + j : j * THREADS + t), p.n - 1);
}

// spread_b has an element of B for each of the columns.
RAW spread_b(const uint row, const uint columns[W]) {
    RAW r = RAW(0);
    [[unroll]] for (uint j = 0; j < W; j++) {
        const uint at = row + columns[j];
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
    to = ALIGNED_B ? raw_b(at, true, W) : spread_b(at, columns);

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
    const uint a = batch * p.batch_a, b = batch * p.batch_b;
    uint columns[W];
    [[unroll]] for (uint j = 0; j < W; j++) columns[j] = column(n0, t, j) * p.col_b;
    const uint from = b + (ALIGNED_B ? column(n0, t, 0) / W * W : 0);

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

    const uint to = z * p.m * p.n, parts = ALIGNED_C ? V : 1; // elements that are stored at once
    if (DIRECT) {
        [[unroll]] for (uint i = 0; i < ROWS; i++)
            [[unroll]] for (uint j = 0; j < W; j += parts) {
                const uint at = to + min(m0 + i, p.m - 1) * p.n;
                if (ALIGNED_C) {
                    TV v;
                    [[unroll]] for (uint q = 0; q < V; q++) v[q] = sum[i * W + j + q];
                    if (n0 + t * W + j < p.n) put_vec((at + n0 + t * W + j) / V, v);
                } else {
                    put_one(at + column(n0, t, j), sum[i * W + j]);
                }
            }
        return;
    }
    [[dont_unroll]] for (uint turn = 0; turn < ROWS * W / parts; turn++) {
        TV v = TV(0);
        [[unroll]] for (uint e = 0; e < ROWS * W / parts; e++)
            [[unroll]] for (uint q = 0; q < parts; q++) v[q] = e == turn ? sum[e * parts + q] : v[q];
        const uint j = turn % (W / parts) * parts;
        const uint at = to + min(m0 + turn / (W / parts), p.m - 1) * p.n;
        if (!ALIGNED_C) put_one(at + column(n0, t, j), v[0]);
        else if (n0 + t * W + j < p.n) put_vec((at + n0 + t * W + j) / V, v);
    }
}
