#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

// A matrix product for devices that are processors: no shared memory and no
// barriers, which cost such a device a switch of coroutines; ROWS × 8 results
// an invocation from vectors of four. The rows of A are the same for a whole
// workgroup, so that a processor loads them once for all lanes; the columns of
// B differ by lane. Sums run in the order of k, as those of lib/tile.glsl do.
//
// The last blocks of a row or column are moved back to end where the matrix
// ends; a matrix with less than ROWS rows or eight columns does not come here.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROWS = 8;     // of results, an invocation
layout(constant_id = 2) const uint A_ACROSS = 0; // 0: A is contiguous in k, 1: in m
layout(constant_id = 3) const uint B_ACROSS = 0; // 0: B is contiguous in n, 1: in k
layout(constant_id = 4) const uint ALIGNED = 7;  // bits: rows of A, B, C begin at four elements

#define PARAMETERS                                                  \
    uint m, n, k;                                                   \
    uint lda, ldb;         /* elements between rows of storage */   \
    uint batch_a, batch_b; /* elements between matrices */          \
    uint batches;          /* in all; chunks of k repeat them */    \
    uint first;            /* the batch of workgroup z = 0 */       \
    uint chunk;            /* k an invocation sums: k, or a share */\
    uint row_c, col_c;     /* elements between results */

#include "lib/memory.glsl"

T4 four_a(uint i) {
    if ((ALIGNED & 1) != 0) return A_FOUR(i / 4);
    return T4(A_ONE(i), A_ONE(i + 1), A_ONE(i + 2), A_ONE(i + 3));
}

T4 four_b(uint i) {
    if ((ALIGNED & 2) != 0) return B_FOUR(i / 4);
    return T4(B_ONE(i), B_ONE(i + 1), B_ONE(i + 2), B_ONE(i + 3));
}

void main() {
    const uint z = gl_WorkGroupID.z + p.first;
    const uint batch = z % p.batches;
    const uint k_begin = (z / p.batches) * p.chunk;
    const uint k_end = min(k_begin + p.chunk, p.k);
    const uint m = min(gl_WorkGroupID.y * ROWS, p.m - ROWS);
    const uint n = min(gl_GlobalInvocationID.x * 8, p.n - 8);
    const uint a = batch * p.batch_a + m * (A_ACROSS == 0 ? p.lda : 1);
    const uint b = batch * p.batch_b + n * (B_ACROSS == 1 ? p.ldb : 1);

    precise T4 low[ROWS], high[ROWS]; // columns 0 to 3 and 4 to 7
    [[unroll]] for (uint i = 0; i < ROWS; i++) low[i] = high[i] = T4(0);

    uint k = k_begin;
    for (; k + 4 <= k_end; k += 4) {
        T4 va[8], vb[8];
        if (A_ACROSS == 0) {
            [[unroll]] for (uint i = 0; i < ROWS; i++) va[i] = four_a(a + i * p.lda + k);
        } else {
            [[unroll]] for (uint j = 0; j < 4; j++) {
                const uint at = a + (k + j) * p.lda;
                if (ROWS % 4 == 0) {
                    [[unroll]] for (uint i = 0; i < ROWS; i += 4) {
                        const T4 v = four_a(at + i);
                        va[i][j] = v[0], va[i + 1][j] = v[1], va[i + 2][j] = v[2], va[i + 3][j] = v[3];
                    }
                } else {
                    [[unroll]] for (uint i = 0; i < ROWS; i++) va[i][j] = A_ONE(at + i);
                }
            }
        }
        if (B_ACROSS == 0) {
            [[unroll]] for (uint j = 0; j < 4; j++) {
                vb[j] = four_b(b + (k + j) * p.ldb);
                vb[j + 4] = four_b(b + (k + j) * p.ldb + 4);
            }
        } else {
            T4 w[8];
            [[unroll]] for (uint i = 0; i < 8; i++) w[i] = four_b(b + i * p.ldb + k);
            [[unroll]] for (uint j = 0; j < 4; j++) {
                vb[j] = T4(w[0][j], w[1][j], w[2][j], w[3][j]);
                vb[j + 4] = T4(w[4][j], w[5][j], w[6][j], w[7][j]);
            }
        }
        [[unroll]] for (uint j = 0; j < 4; j++) {
            [[unroll]] for (uint i = 0; i < ROWS; i++) {
                low[i] = MULADD(T4(va[i][j]), vb[j], low[i]);
                high[i] = MULADD(T4(va[i][j]), vb[j + 4], high[i]);
            }
        }
    }
    for (; k < k_end; k++) {
        const uint ka = a + k * (A_ACROSS == 0 ? 1 : p.lda);
        const uint kb = b + k * (B_ACROSS == 1 ? 1 : p.ldb);
        const uint da = A_ACROSS == 0 ? p.lda : 1, db = B_ACROSS == 1 ? p.ldb : 1;
        const T4 l = T4(B_ONE(kb), B_ONE(kb + db), B_ONE(kb + 2 * db), B_ONE(kb + 3 * db));
        const T4 h = T4(B_ONE(kb + 4 * db), B_ONE(kb + 5 * db), B_ONE(kb + 6 * db), B_ONE(kb + 7 * db));
        [[unroll]] for (uint i = 0; i < ROWS; i++) {
            const T4 v = T4(A_ONE(ka + i * da));
            low[i] = MULADD(v, l, low[i]);
            high[i] = MULADD(v, h, high[i]);
        }
    }

    [[unroll]] for (uint i = 0; i < ROWS; i++) {
        const uint at = z * p.m * p.n + (m + i) * p.row_c + n * p.col_c;
        if ((ALIGNED & 4) != 0) {
            C_FOUR(at / 4) = low[i];
            C_FOUR(at / 4 + 1) = high[i];
        } else {
            [[unroll]] for (uint j = 0; j < 4; j++) {
                C_ONE(at + j * p.col_c) = low[i][j];
                C_ONE(at + (j + 4) * p.col_c) = high[i][j];
            }
        }
    }
}
