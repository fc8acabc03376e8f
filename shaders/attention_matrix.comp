#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#extension GL_KHR_shader_subgroup_vote : require
#include "lib/operands.glsl"
#include "lib/attention.glsl"

// Attention, softmax(f(Q·Kᵀ))·V, on matrix hardware, by an online softmax as in FlashAttention.
// See synth/attention.
//
// A workgroup has TILE queries, and all keys or, where there are few workgroups, a part of them (PARTED): then it gives sums
// that are not divided by their weights, and another kernel joins the parts (Flash-Decoding). Each subgroup has FM matrices of MM of them, in registers, and sums
// their results in registers. Blocks of keys and values go by way of registers through shared
// memory, where all subgroups read them.
//
// Which elements of a matrix an invocation has is the device's affair. Element-wise work needs no
// more than that all sums lie alike: maxima and totals are kept for each column of a matrix, and
// rows are looked at together only where a maximum has grown by more than SLACK. Until then
// exponentials of up to 2^SLACK are summed, which costs no accuracy. The loads of `places` tell an
// invocation the row and the column of its elements where a mask, an edge or a new maximum needs them.
//
// Weights become operands of the second product in registers where operands lie as sums do (ALIKE), and by
// way of shared memory elsewhere.

const float LOG2E = 1.44269504;
const float SLACK = 8; // in powers of two

// synth/spirv.SpliceCalls has the code of a program in the place of these functions. logit is a
// logit, of a scaled score. cover tells of a tile, from the first to the last row and column, whether
// the mask leaves all of it out (1), or nothing of it (2). least is the greatest logit of what is left out.
float logit(const uint z, const uint row, const uint column, const float score) { return score; }
uint cover(const uint z, const uint row, const uint last_row, const uint column, const uint last_column) { return 2; }
float least(const uint z) { return -INFINITE; }

// FETCH_BLOCK loads the block of keys and values from `from` on into registers.
#define FETCH_BLOCK                                                              \
    FETCH(next_k, p.k, base_k, p.at_k.row, ROW_K, COUNT_K, VECTORS, false)       \
    FETCH(next_v, p.v, base_v, p.at_v.row, ROW_V, COUNT_V, (p.width + E - 1) / E, true)

// The passes through the keys: the first has the tiles that a mask does not leave out, the last one the others. Between them
// a part looks at one tile of other parts at a time.
const uint KEPT = 0, LEFT_OUT = 3;

// advance is the first block of keys from one on that a mask does not leave out; with all, the next one.
uint advance(const uint z, const uint row, const uint last_row, uint at, const uint stop, const bool all) {
    if (SKIPS && !all)
        while (at < stop && (cover(z, row, last_row, at, min(at + KEYS, p.keys) - 1) & 1) != 0) at += KEYS;
    return at;
}

// basis is what logits are compared with: of a row that has -Inf alone so far, the exponentials are
// 0, not those of -Inf - -Inf.
float basis(const float m) { return m == -INFINITE ? 0 : m; }

void main() {
    const uint group = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
    if (group >= p.groups) return;
    const uint warp = gl_SubgroupID, invocation = gl_SubgroupInvocationID;
    const uint part = group % PARTS, tile = group / PARTS, z = tile / p.blocks;
    const uint first = (p.blocks - 1 - tile % p.blocks) * TILE; // under a causal mask the last queries take longest
    const uint last = min(first + TILE, p.queries) - 1;
    const uint mine = first + warp * FM * MM, my_last = min(mine + FM * MM, p.queries) - 1;
    const uint base_q = BASE_OF(p.at_q, z), base_k = BASE_OF(p.at_k, z), base_v = BASE_OF(p.at_v, z);
    const uint own = warp * MM * MN; // of the subgroup's scratch
    const uint some = PARTED ? ((p.keys + KEYS - 1) / KEYS + PARTS - 1) / PARTS * KEYS : p.keys; // keys of a part
    const uint start = part * some, end = min(start + some, p.keys);
    // Where logits are scaled scores, a positive scale is a part of the exponentials' base, which is 2^unit.
    const float scale = DIVIDES ? 1 / p.scale : p.scale;
    const bool scales = LOGITS || !(scale > 1e-30 && scale < 1e30);
    const float unit = scales ? LOG2E : scale * LOG2E;
    const float slack = SLACK / unit;

    for (uint e = gl_LocalInvocationIndex; e < MM * MN; e += THREADS) places[e / 4][e % 4] = e;
    MatrixA fq[FM * DK];
    [[unroll]] for (uint stage = 0; stage < STAGES; stage++) {
        if (stage > 0) barrier();
        for (uint e = gl_LocalInvocationIndex; e < STAGE * ROW_K; e += THREADS) {
            const uint y = min(first + stage * STAGE + e / ROW_K, p.queries - 1), x = e % ROW_K;
            slices[e / ROW_K * PITCH_K + x] = x < VECTORS ? p.q.v[base_q + y * p.at_q.row + x] : uvec4(0);
        }
        barrier();
        if (warp * STAGES / WARPS == stage) {
            [[unroll]] for (uint i = 0; i < FM; i++)
                [[unroll]] for (uint k = 0; k < DK; k++)
                    coopMatLoad(fq[i * DK + k], slices, (warp % (WARPS / STAGES) * FM + i) * MM * PITCH_K + k * MN / E, PITCH_K,
                                gl_CooperativeMatrixLayoutRowMajor);
        }
    }

    Sums at;

    Sums sum[FM * DV], most[FM], total[FM];
    [[unroll]] for (uint i = 0; i < FM; i++) {
        most[i] = Sums(-INFINITE);
        total[i] = Sums(0.0);
        [[unroll]] for (uint n = 0; n < DV; n++) sum[i * DV + n] = Sums(0.0);
    }

    // Where a mask leaves tiles out, the first pass goes through the others. The last one goes through
    // them too if some row has nothing else. A part looks at others before it, for the greatest logit alone, since rows that have
    // nothing here have mostly something there.
    uint pass = KEPT, begin = p.keys, from = start, stop = end;
    [[dont_unroll]] while (true) {
        // A round computes with the block that is in shared memory while the next one comes. The first round
        // has none yet, so that the code which fetches a block is there once.
        uvec4 next_k[COUNT_K], next_v[COUNT_V];
        begin = p.keys;
        [[dont_unroll]] while (true) {
            from = advance(z, first, last, from, stop, pass != KEPT);
            FETCH_BLOCK
            uint covered = 2;
            bool computes = begin < p.keys;
            if (LOGITS && computes) covered = !SKIPS ? 0 : mine >= p.queries ? 1 : cover(z, mine, my_last, begin, min(begin + KEYS, p.keys) - 1);
            if (SKIPS) computes = computes && (covered & 1) == (pass == LEFT_OUT ? 1 : 0);
            const bool looks = PARTED && SKIPS && pass != KEPT && pass != LEFT_OUT;

            if (computes) {
                Sums s[FM * KT];
                [[unroll]] for (uint j = 0; j < KT; j++) {
                    [[unroll]] for (uint i = 0; i < FM; i++) s[i * KT + j] = Sums(0.0);
                    [[unroll]] for (uint k = 0; k < DK; k++) {
                        MatrixB fk;
                        coopMatLoad(fk, slices, j * MN * PITCH_K + k * MN / E, PITCH_K, gl_CooperativeMatrixLayoutColumnMajor);
                        [[unroll]] for (uint i = 0; i < FM; i++) s[i * KT + j] = coopMatMulAdd(fq[i * DK + k], fk, s[i * KT + j]);
                    }
                }

                MatrixA weights[FM * KT];
                [[unroll]] for (uint i = 0; i < FM; i++) {
                    if (scales) {
                        [[unroll]] for (uint j = 0; j < KT; j++)
                            [[unroll]] for (uint c = 0; c < at.length(); c++) s[i * KT + j][c] *= scale;
                    }
                    if (LOGITS && (covered & 2) == 0) {
                        coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
                        [[unroll]] for (uint c = 0; c < at.length(); c++) {
                            const uint place = uint(at[c]);
                            const uint row = min(mine + i * MM + place / MN, p.queries - 1);
                            [[unroll]] for (uint j = 0; j < KT; j++)
                                s[i * KT + j][c] = logit(z, row, min(begin + j * MN + place % MN, p.keys - 1), s[i * KT + j][c]);
                        }
                    }
                    if (begin + KEYS > p.keys) {
                        coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
                        [[unroll]] for (uint c = 0; c < at.length(); c++)
                            [[unroll]] for (uint j = 0; j < KT; j++)
                                if (begin + j * MN + uint(at[c]) % MN >= p.keys) s[i * KT + j][c] = -INFINITE;
                    }

                    Sums top = s[i * KT];
                    bool grows = false;
                    [[unroll]] for (uint c = 0; c < at.length(); c++) {
                        [[unroll]] for (uint j = 1; j < KT; j++) top[c] = max(top[c], s[i * KT + j][c]);
                        grows = grows || !(top[c] <= most[i][c] + slack);
                    }
                    if (subgroupAny(grows)) {
                        coopMatStore(top, scratch, own / 4, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
                        reduced(own, invocation, false);
                        coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
                        [[unroll]] for (uint c = 0; c < at.length(); c++) {
                            const float row = uintBitsToFloat(WORD(own + uint(at[c]) / MN));
                            const float now = row > most[i][c] ? row : most[i][c];
                            const float less = exp2((most[i][c] - basis(now)) * unit);
                            most[i][c] = now;
                            total[i][c] *= less;
                            [[unroll]] for (uint n = 0; n < DV; n++) sum[i * DV + n][c] *= less;
                        }
                        together();
                    }
                    if (!looks) {
                        [[unroll]] for (uint c = 0; c < at.length(); c++) {
                            const float bottom = basis(most[i][c]);
                            [[unroll]] for (uint j = 0; j < KT; j++) {
                                // A mask may add the least number there is, whose product with unit is infinite.
                                const float x = exp2(LOGITS ? (s[i * KT + j][c] - bottom) * unit : fma(s[i * KT + j][c], unit, -bottom * unit));
                                s[i * KT + j][c] = x;
                                total[i][c] += x;
                            }
                        }
                        [[unroll]] for (uint j = 0; j < KT; j++) AS_OPERAND(weights[i * KT + j], s[i * KT + j], own, invocation)
                    }
                }

                if (!looks) {
                    [[unroll]] for (uint j = 0; j < KT; j++)
                        [[unroll]] for (uint n = 0; n < DV; n++) {
                            MatrixB fv;
                            coopMatLoad(fv, slices, SIZE_K + j * MN * PITCH_V + n * MN / E, PITCH_V, gl_CooperativeMatrixLayoutRowMajor);
                            [[unroll]] for (uint i = 0; i < FM; i++) sum[i * DV + n] = coopMatMulAdd(weights[i * KT + j], fv, sum[i * DV + n]);
                        }
                }
            }

            if (from >= stop) break;
            barrier();
            STORE(0, next_k, ROW_K, PITCH_K, COUNT_K)
            STORE(SIZE_K, next_v, ROW_V, PITCH_V, COUNT_V)
            barrier();
            begin = from;
            from += KEYS;
        }
        if (!SKIPS || pass == LEFT_OUT || least(z) == -INFINITE) break; // rows of -Inf alone give NaN anyway
        // The exponential of -128 is 0.
        const float settled = least(z) + 128;
        bool unseen = false;
        coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint i = 0; i < FM; i++)
            [[unroll]] for (uint c = 0; c < at.length(); c++)
                unseen = unseen || mine + i * MM + uint(at[c]) / MN < p.queries && !(most[i][c] > settled);
        if (gl_LocalInvocationIndex == 0) unsettled = 0;
        barrier();
        if (unseen) atomicOr(unsettled, 1);
        barrier();
        if (unsettled == 0) break;
        uint other = p.keys;
        if (PARTED && pass + 1 < LEFT_OUT) {
            other = advance(z, first, last, pass == KEPT ? 0 : stop, p.keys, false);
            if (other >= start && other < end) other = advance(z, first, last, end, p.keys, false);
        }
        pass = other < p.keys ? pass + 1 : LEFT_OUT;
        from = other < p.keys ? other : start;
        stop = other < p.keys ? min(other + KEYS, p.keys) : end;
    }

    barrier();
    [[unroll]] for (uint i = 0; i < FM; i++) {
        coopMatStore(total[i], scratch, own / 4, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
        reduced(own, invocation, true);
        if (PARTED) {
            const float all = uintBitsToFloat(WORD(own + invocation % MM));
            together();
            coopMatStore(most[i], scratch, own / 4, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
            together();
            leave_tail(own, invocation, mine + i * MM, z, part, scales ? 1 : scale, all);
        } else {
            coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint c = 0; c < at.length(); c++) {
                const float share = 1 / uintBitsToFloat(WORD(own + uint(at[c]) / MN));
                [[unroll]] for (uint n = 0; n < DV; n++) sum[i * DV + n][c] *= share;
            }
        }
        [[unroll]] for (uint n = 0; n < DV; n += LEAVE) {
            together();
            [[unroll]] for (uint k = 0; k < LEAVE; k++)
                coopMatStore(sum[i * DV + n + k], slices, warp * MM * LEAVE_ROW + k * MN / 4, LEAVE_ROW, gl_CooperativeMatrixLayoutRowMajor);
            together();
            if (PARTED) leave_sums(warp * MM * LEAVE_ROW, invocation, mine + i * MM, n * MN, z, part);
            else leave(warp * MM * LEAVE_ROW, invocation, mine + i * MM, n * MN, z);
        }
    }
}
