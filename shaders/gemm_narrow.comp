#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/stored.glsl"

// A product with at most eight columns and rows that are contiguous in k:
// matrix times vector, and dot products. What counts is reading A once at full
// speed, so TEAM invocations take ROWS rows and share out k, and the shares are
// added pairwise through shared memory. Where rows are short and many, a workgroup
// has several such teams.
//
// Order of a sum: invocation t of a team adds the products of blocks t, t + TEAM, …
// of W elements in order, elements one after the other; then invocation t adds
// that of t + TEAM/2, and so on by halves.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROWS = 4;    // of A, a team
layout(constant_id = 2) const uint COLS = 1;    // of B, or more, of which the last repeats
layout(constant_id = 3) const uint ALIGNED = 1; // bits: rows of A, columns of B begin at 16 bytes
layout(constant_id = 4) const uint TEAM = 128;  // invocations of a team

#include "lib/vectors.glsl"

const uint THREADS = gl_WorkGroupSize.x;

shared T share[THREADS * ROWS * COLS];

void main() {
    const uint t = gl_LocalInvocationIndex;
    VECTORS_LOCALS
    const uint member = t % TEAM;
    const uint m0 = (group * (THREADS / TEAM) + t / TEAM) * ROWS;

    precise T sum[ROWS * COLS];
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) sum[i] = T(0);
    for (uint k = k_begin + member * W; k < k_end; k += TEAM * W) {
        RAW ra[ROWS];
        [[unroll]] for (uint i = 0; i < ROWS; i++)
            ra[i] = raw_a(a + min(m0 + i, p.m - 1) * p.lda + k, ALIGNED_A, k_end - k);
        [[unroll]] for (uint c = 0; c < COLS; c++) {
            const uint column = b + min(c, p.n - 1) * p.col_b;
            T x[W];
            if (ALIGNED_B) {
                const RAW rb = raw_b(column + k, true, W);
                [[unroll]] for (uint j = 0; j < W; j++) x[j] = element(rb, j);
            } else {
                [[unroll]] for (uint j = 0; j < W; j++) {
                    const bool within = ALIGNED_A || k + j < k_end;
                    const T one = element_b(column + (k + (within ? j : 0)) * p.row_b);
                    x[j] = within ? one : T(0);
                }
            }
            [[unroll]] for (uint i = 0; i < ROWS; i++)
                [[unroll]] for (uint j = 0; j < W; j++)
                    sum[i * COLS + c] = MULADD(element(ra[i], j), x[j], sum[i * COLS + c]);
        }
    }

    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) share[i * THREADS + t] = sum[i];
    barrier();
    for (uint reach = TEAM / 2; reach > 0; reach /= 2) {
        if (member < reach) {
            [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
                precise T s = share[i * THREADS + t] + share[i * THREADS + t + reach];
                share[i * THREADS + t] = s;
            }
        }
        barrier();
    }
    for (uint e = member; e < ROWS * COLS; e += TEAM) {
        const uint i = e / COLS, c = e % COLS;
        if (m0 + i < p.m && c < p.n)
            put_one(z * p.m * p.n + (m0 + i) * p.row_c + c * p.col_c, share[e * THREADS + t - member]);
    }
}
