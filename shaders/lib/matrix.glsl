// A tile of a matrix product C = A·B on matrix hardware (VK_KHR_cooperative_matrix): how
// slices of A and B come to shared memory, and how the sums leave.
//
// A workgroup computes TILE_M × TILE_N results. Each of its WARPS_M × WARPS_N subgroups
// holds FM × FN matrices of MM × MN sums. Operands keep their types; sums are f32 or
// integers of 32 bits. The hardware adds the products of MK neighbours in k in an order of
// its own, so the bits of a result depend on the device; on one device they follow from
// the shape of the product alone.
//
// Where the subgroups are SLICED, each has a part of the k of all sums of the workgroup: it moves slices of its own.
//
// Memory is read in vectors of 16 bytes. Rows that do not begin at such a vector (ALIGNED)
// are read as two neighbours, of which the elements are shifted into place. Nothing is read
// beyond the vector that has the last element of an operand.
//
// Aligned rows hold whole vectors: what they have beyond the matrix is read and not used, and
// what they have before the first k is zero.
//
// Edges: rows and columns beyond the matrix repeat its last ones, and are not stored. k is
// padded with zeros before its beginning, where only the loads ahead of the main loop look.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint MM = 16;       // rows of one matrix of sums
layout(constant_id = 2) const uint MN = 16;       // its columns
layout(constant_id = 3) const uint MK = 16;       // products of one instruction
layout(constant_id = 4) const uint FM = 4;        // matrices along m, a subgroup
layout(constant_id = 5) const uint FN = 4;        // matrices along n, a subgroup
layout(constant_id = 6) const uint WARPS_M = 2;   // subgroups along m, a workgroup
layout(constant_id = 7) const uint WARPS_N = 2;   // subgroups along n, a workgroup
layout(constant_id = 8) const uint ALIGNED = 7;   // bits: rows of A and B begin at 16 bytes, those of C at 4 results; 16: results leave in fours of vectors
layout(constant_id = 9) const uint TILE_K = 32;
layout(constant_id = 10) const uint A_ACROSS = 0; // 0: A is contiguous in k, 1: in m
layout(constant_id = 11) const uint B_ACROSS = 0; // 0: B is contiguous in n, 1: in k

#define PARAMETERS                                                        \
    uint m, n, k;                                                         \
    uint lda, ldb;             /* elements between rows of storage */     \
    uint batch_a, batch_b;     /* elements between matrices */            \
    uint batches;                                                         \
    uint first;                /* the share of workgroup z = 0 */         \
    uint start;                /* the tile of workgroup 0 */              \
    uint chunk;                /* k a workgroup sums: k, or a share */    \
    uint rest_first, rest;     /* tiles of which all k is shared */       \
    REST

// Operands are matrices, or one is what places.glsl makes of the input of a convolution.
#if defined(PLACES)
#include "places.glsl"
#define REST PLACE_PARAMETERS
#define FIRST_A 0
#define FIRST_B 0
#define LAST_A 0 /* operands are aligned */
#define LAST_B 0
#else
#define REST                                                              \
    uint first_a, first_b;     /* elements before the first matrix */     \
    uint last_a, last_b;       /* vector with the last element */
#define FIRST_A p.first_a
#define FIRST_B p.first_b
#define LAST_A p.last_a
#define LAST_B p.last_b
#define PLACE(n) 0
#define PLACE_LOCALS
#define PLACE_BEGIN(k)
#define PLACE_AT 0
#define PLACE_NEXT
const uint GATHERED = 0, CHANNELS_FIRST = 0;
#endif

#if defined(SLICED)
layout(constant_id = 12) const uint WARPS_K = 8; // subgroups along k, a workgroup
#define WARP 0
#define MOVER gl_SubgroupInvocationID
#define OWN(at) (gl_SubgroupID * (SIZE_A + SIZE_B) + (at))
#else
const uint WARPS_K = 1;
#define WARP gl_SubgroupID
#define MOVER gl_LocalInvocationIndex
#define OWN(at) (at)
#endif

#include "memory.glsl"
#include "order.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer InWords { uvec4 v[]; };

const uint THREADS = gl_WorkGroupSize.x;
const uint SUBGROUP = THREADS / (WARPS_M * WARPS_N * WARPS_K);
const uint MOVERS = THREADS / WARPS_K; // invocations that move a slice
const uint TILE_M = MM * FM * WARPS_M;
const uint TILE_N = MN * FN * WARPS_N;

const bool ALIGNED_A = (ALIGNED & 1) != 0;
const bool ALIGNED_B = (ALIGNED & 2) != 0;
const bool ALIGNED_C = (ALIGNED & 4) != 0;
const int UNIT_A = ALIGNED_A ? E : 1; // elements that one index counts
const int UNIT_B = ALIGNED_B ? E : 1;

// shifted has the elements from number s on of two neighbouring vectors.
uvec4 shifted(const uvec4 lo, const uvec4 hi, const uint s) {
    const uint words = s / (E / 4), bits = s % (E / 4) * (128 / E);
    const bool two = (words & 2) != 0, one = (words & 1) != 0;
    const uint a = two ? lo.z : lo.x, b = two ? lo.w : lo.y, c = two ? hi.x : lo.z;
    const uint d = two ? hi.y : lo.w, e = two ? hi.z : hi.x, f = two ? hi.w : hi.y;
    const uint p = one ? b : a, q = one ? c : b, r = one ? d : c, t = one ? e : d, u = one ? f : e;
    return uvec4(uint((uint64_t(q) << 32 | p) >> bits), uint((uint64_t(r) << 32 | q) >> bits),
                 uint((uint64_t(t) << 32 | r) >> bits), uint((uint64_t(u) << 32 | t) >> bits));
}

// from_zero keeps the elements of a vector whose k, which counts from the first element, is
// not negative; whole where all elements have the same k.
uvec4 from_zero(uvec4 v, const int k, const bool whole) {
    [[unroll]] for (int w = 0; w < 4; w++) {
        const int missing = whole ? (k < 0 ? 4 : 0) : clamp(-k - w * (E / 4), 0, E / 4) * (16 / E);
        v[w] = missing >= 4 / (E / 4) * (E / 4) ? 0 : v[w] >> (missing * 8) << (missing * 8);
    }
    return v;
}

// fetch_a and fetch_b load E consecutive elements from index i, which counts vectors where
// these are aligned. Elements whose k lies before the beginning are zero where guard says
// that there may be any.
#define FETCH(name, operand, last, aligned, across_k)                            \
    uvec4 name(const int i, const int k, const bool guard) {                     \
        if (aligned) {                                                           \
            if (guard && k <= ((across_k) ? -E : -1)) return uvec4(0);               \
            return InWords(operand).v[i];                                        \
        }                                                                        \
        const int low = i >> LOG_E;               \
        const uvec4 v = shifted(InWords(operand).v[clamp(low, 0, int(last))],    \
                                InWords(operand).v[clamp(low + 1, 0, int(last))], uint(i) % E); \
        return guard ? from_zero(v, k, !(across_k)) : v;                         \
    }

FETCH(fetch_a, p.a, LAST_A, ALIGNED_A, A_ACROSS == 0)
FETCH(fetch_b, p.b, LAST_B, ALIGNED_B, B_ACROSS == 1)

// Slices of k in shared memory, in vectors: SLICE_A of A and SLICE_B of B. They lie as in
// memory, since the loads of matrices transpose. Rows have an odd number of vectors, which
// spreads eight rows over all banks.
const uint PITCH_A = (A_ACROSS == 0 ? SLICE_A / E : TILE_M / E) | 1;
const uint PITCH_B = (B_ACROSS == 1 ? SLICE_B / E : TILE_N / E) | 1;
const uint SIZE_A = PITCH_A * (A_ACROSS == 0 ? TILE_M : SLICE_A);
const uint SIZE_B = PITCH_B * (B_ACROSS == 1 ? TILE_N : SLICE_B);

// Sums leave by way of shared memory, as many columns of matrices at a time as there is
// room for: LEAVE matrices of each subgroup.
const uint SLICES = BUFFERS * (SIZE_A + SIZE_B);
const uint LEAVE_ROW = FN * MN / 4 + 1;
const uint LEAVE = WARPS_M * WARPS_N * MM * LEAVE_ROW;
shared uvec4 slices[WARPS_K * (SLICES > LEAVE ? SLICES : LEAVE)];

const uint COUNT_A = TILE_M * SLICE_A / E / MOVERS; // vectors an invocation moves
const uint COUNT_B = TILE_N * SLICE_B / E / MOVERS;

#define MatrixA coopmat<OT, gl_ScopeSubgroup, MM, MK, gl_MatrixUseA>
#define MatrixB coopmat<OT, gl_ScopeSubgroup, MK, MN, gl_MatrixUseB>
#define Sums coopmat<AT, gl_ScopeSubgroup, MM, MN, gl_MatrixUseAccumulator>

#define MATRIX_LOCALS                                                            \
    const uint tid = MOVER;                                                      \
    const uint warp = WARP;                                                      \
    const uint share = gl_WorkGroupID.z + p.first;                               \
    /* the first share of k is the short one */                                  \
    const uint after = ((p.k + p.chunk - 1) / p.chunk - 1 - share) * p.chunk;    \
    const int k_count = int(min(p.chunk, p.k - after));                          \
    const uint k_begin = p.k - after - uint(k_count);                            \
    const uint number = p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; \
    const uint across = (p.n + TILE_N - 1) / TILE_N;                             \
    const uint down = (p.m + TILE_M - 1) / TILE_M;                               \
    const uint batch = number / (across * down);                                 \
    if (batch >= p.batches) return;                                              \
    const uvec2 tile = tile_at(number % (across * down), across, down);          \
    const uint m0 = tile.x * TILE_M, n0 = tile.y * TILE_N;                       \
    const uint row = (warp % WARPS_M) * FM * MM;  /* of the subgroup's sums in the tile */ \
    const uint col = (warp / WARPS_M) * FN * MN;                                 \
    Sums sum[FM * FN];                                                           \
    [[unroll]] for (uint i = 0; i < FM * FN; i++) sum[i] = Sums(AT(0));          \
    const uint per_a = A_ACROSS == 0 ? SLICE_A / E : TILE_M / E;                 \
    const uint per_b = B_ACROSS == 1 ? SLICE_B / E : TILE_N / E;                 \
    const uint minor_a = (tid % per_a) * E, major_a = tid / per_a;               \
    const uint minor_b = (tid % per_b) * E, major_b = tid / per_b;               \
    const uint to_a = major_a * PITCH_A + minor_a / E;                           \
    const uint to_b = major_b * PITCH_B + minor_b / E;                           \
    int at_a[COUNT_A], at_b[COUNT_B]; /* of the next slices, in units */         \
    PLACE_LOCALS                                                                 \
    const int step_a = int(A_ACROSS == 0 ? SLICE_A : SLICE_A * p.lda) / UNIT_A;  \
    const int step_b = int(B_ACROSS == 1 ? SLICE_B : SLICE_B * p.ldb) / UNIT_B;

// MATRIX_BEGIN puts pad zeros before k.
#define MATRIX_BEGIN(pad)                                                        \
    PLACE_BEGIN(int(k_begin) - (pad) + int(GATHERED == 1 ? minor_a : minor_b))   \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++) {                              \
        const uint major = major_a + i * (MOVERS / per_a);                       \
        const uint x = m0 + (A_ACROSS == 0 ? major : minor_a);                   \
        const uint m = min(x, A_ACROSS == 1 && ALIGNED_A ? (p.m - 1) / E * E : p.m - 1); \
        const int k = int(k_begin) - (pad) + int(A_ACROSS == 0 ? minor_a : major); \
        const int base = int(batch * p.batch_a + FIRST_A);                       \
        if (GATHERED == 1) at_a[i] = (base + PLACE(m)) / UNIT_A;                 \
        else at_a[i] = A_ACROSS == 0 ? (base + int(m * p.lda) + k) / UNIT_A           \
                                : (base + k * int(p.lda) + int(m)) / UNIT_A;     \
    }                                                                            \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const uint major = major_b + i * (MOVERS / per_b);                       \
        const uint x = n0 + (B_ACROSS == 1 ? major : minor_b);                   \
        const uint n = min(x, B_ACROSS == 0 && ALIGNED_B ? (p.n - 1) / E * E : p.n - 1); \
        const int k = int(k_begin) - (pad) + int(B_ACROSS == 1 ? minor_b : major); \
        const int base = int(batch * p.batch_b + FIRST_B);                       \
        if (GATHERED == 2) at_b[i] = (base + PLACE(n)) / UNIT_B;                 \
        else at_b[i] = B_ACROSS == 1 ? (base + int(n * p.ldb) + k) / UNIT_B           \
                                : (base + k * int(p.ldb) + int(n)) / UNIT_B;     \
    }

// LOAD_A and LOAD_B read the next slice into registers, and move on where there is a slice
// after it. k counts from the first element of k to the slice.
#define LOAD_A(to, k, guard, more)                                               \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++) {                              \
        to[i] = fetch_a(at_a[i] + (GATHERED == 1 ? PLACE_AT : 0), (k) + int(A_ACROSS == 0 ? minor_a               \
                        : major_a + i * (MOVERS / per_a)), guard);               \
        if (GATHERED != 1) at_a[i] += (more) ? step_a : 0;                       \
    }
#define LOAD_B(to, k, guard, more)                                               \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        to[i] = fetch_b(at_b[i] + (GATHERED == 2 ? PLACE_AT : 0), (k) + int(B_ACROSS == 1 ? minor_b               \
                        : major_b + i * (MOVERS / per_b)), guard);               \
        if (GATHERED != 2) at_b[i] += (more) ? step_b : 0;                       \
    }

// STORE_A and STORE_B put a slice into a buffer of shared memory.
#define STORE_A(buffer, from)                                                    \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++)                                \
        slices[OWN((buffer) * SIZE_A + to_a + i * (MOVERS / per_a) * PITCH_A)] = from[i];
#define STORE_B(buffer, from)                                                    \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++)                                \
        slices[OWN(BUFFERS * SIZE_A + (buffer) * SIZE_B + to_b + i * (MOVERS / per_b) * PITCH_B)] = from[i];

// FRAGMENTS loads the matrices of a subgroup whose k begins at k_a and k_b of slices.
#define FRAGMENTS(fa, fb, buffer_a, k_a, buffer_b, k_b)                          \
    [[unroll]] for (uint i = 0; i < FM; i++) {                                   \
        const uint m = row + i * MM;                                             \
        if (A_ACROSS == 0)                                                       \
            coopMatLoad(fa[i], slices, OWN((buffer_a) * SIZE_A + m * PITCH_A + (k_a) / E), PITCH_A, \
                        gl_CooperativeMatrixLayoutRowMajor);                     \
        else                                                                     \
            coopMatLoad(fa[i], slices, OWN((buffer_a) * SIZE_A + (k_a) * PITCH_A + m / E), PITCH_A, \
                        gl_CooperativeMatrixLayoutColumnMajor);                  \
    }                                                                            \
    [[unroll]] for (uint j = 0; j < FN; j++) {                                   \
        const uint n = col + j * MN;                                             \
        const uint base = OWN(BUFFERS * SIZE_A + (buffer_b) * SIZE_B);           \
        if (B_ACROSS == 0)                                                       \
            coopMatLoad(fb[j], slices, base + (k_b) * PITCH_B + n / E, PITCH_B,  \
                        gl_CooperativeMatrixLayoutRowMajor);                     \
        else                                                                     \
            coopMatLoad(fb[j], slices, base + n * PITCH_B + (k_b) / E, PITCH_B,  \
                        gl_CooperativeMatrixLayoutColumnMajor);                  \
    }

#define MULTIPLY(fa, fb)                                                         \
    [[unroll]] for (uint j = 0; j < FN; j++)                                     \
        [[unroll]] for (uint i = 0; i < FM; i++)                                 \
            sum[i * FN + j] = coopMatMulAdd(fa[i], fb[j], sum[i * FN + j]);

// MULTIPLY_SLICE multiplies a slice in the first buffer.
#define MULTIPLY_SLICE                                                           \
    [[unroll]] for (uint k = 0; k < TILE_K; k += MK) {                           \
        MatrixA fa[FM];                                                          \
        MatrixB fb[FN];                                                          \
        FRAGMENTS(fa, fb, 0, k, 0, k)                                            \
        MULTIPLY(fa, fb)                                                         \
    }

// MATRIX_END writes the sums, a row of matrices of each subgroup at a time, so that the code
// that stores, and whatever has come into its place (see memory.glsl), is there once.
// Chunks of k follow each other in c. Where it is the rest of the tiles whose k is shared, a chunk has
// these tiles alone, one after the other: see matrix_rest.comp.
#define MATRIX_END                                                               \
    const uint z = share * p.batches + batch, pitch = p.rest > 0 ? TILE_N : p.n; \
    const uint base = p.rest > 0 ? (share * p.rest + number - p.rest_first) * TILE_M * TILE_N - m0 * TILE_N - n0 : z * p.m * p.n; \
    [[unroll]] for (uint i = 0; i < FM; i++) {                                   \
        barrier();                                                               \
        [[unroll]] for (uint j = 0; j < FN; j++)                                 \
            coopMatStore(sum[i * FN + j], slices, gl_SubgroupID * MM * LEAVE_ROW + j * MN / 4, LEAVE_ROW, \
                         gl_CooperativeMatrixLayoutRowMajor);                    \
        barrier();                                                               \
        JOIN                                                                     \
        leave(warp * MM * LEAVE_ROW, LEAVER, m0 + row + i * MM, n0 + col, z, base, pitch); \
    }

#if defined(F32)
#define RESULTS(v) uintBitsToFloat(v)
#define BITS(v) floatBitsToUint(v)
#else
#define RESULTS(v) (v)
#define BITS(v) (v)
#endif

// JOIN adds up the sums of the subgroups along k, in their order.
#if defined(SLICED)
#define LEAVER gl_LocalInvocationIndex
#define JOIN join_sums(); barrier();
void join_sums() {
    const uint vectors = FN * MN / 4;
    for (uint e = gl_LocalInvocationIndex; e < MM * vectors; e += THREADS) {
        const uint at = e / vectors * LEAVE_ROW + e % vectors;
        TV v = RESULTS(slices[at]);
        [[unroll]] for (uint s = 1; s < WARPS_K; s++) v += RESULTS(slices[s * MM * LEAVE_ROW + at]);
        slices[at] = BITS(v);
    }
}
#else
#define LEAVER gl_SubgroupInvocationID
#define JOIN
#endif
const uint LEAVERS = SUBGROUP * WARPS_K; // invocations that store a row of matrices

// place_of is where result (m, n) of matrix z lies.
uint place_of(const uint m, const uint n, const uint z, const uint base, const uint pitch) {
#if defined(PLACES)
    if (CHANNELS_FIRST != 0) {
        const uint share = z / p.batches, size = p.out_x * p.out_y * p.out_z;
        return share * p.batches * p.m * p.n + ((n / size * p.batches + z % p.batches) * p.m + m) * size + n % size;
    }
#endif
    return base + m * pitch + n;
}

const bool FOURS = (ALIGNED & 16) != 0;

const uint WIDTH = FN * MN; // results of a subgroup's line

// run_end is where the results of a line end that lie one after the other from column c on. Where channels are first, they
// do within an image.
uint run_end(const uint n0, const uint c, const uint width) {
#if defined(PLACES)
    if (CHANNELS_FIRST != 0 && !ALIGNED_C) {
        const uint size = p.out_x * p.out_y * p.out_z;
        return min(width, c + size - (n0 + c) % size);
    }
#endif
    return width;
}

// before is how many results of a line that begins at a place come before its first whole vector.
uint before(const uint at) { return ALIGNED_C ? 0 : -at % 4; }

// taken are four results of a line from column c on, wherever that is. A line has one vector more than it needs.
uvec4 taken(const uint line, const uint c) {
    const uvec4 lo = slices[line + c / 4];
    if (ALIGNED_C) return lo;
    const uvec4 hi = slices[line + c / 4 + 1];
    const bool two = (c & 2) != 0, one = (c & 1) != 0;
    const uint p = two ? lo.z : lo.x, q = two ? lo.w : lo.y, r = two ? hi.x : lo.z, s = two ? hi.y : lo.w, t = two ? hi.z : hi.x;
    return uvec4(one ? q : p, one ? r : q, one ? s : r, one ? t : s);
}

// Run is a run of columns of a row of matrices, and how many whole vectors of a line it can have.
struct Run {
    uint first, end, vectors;
    float reciprocal; // of vectors
};

// leaving finds vector e of a run, and its place. It is false for one beyond the matrix.
bool leaving(const uint e, const Run r, const uint from, const uint m0, const uint n0, const uint z, const uint base, const uint pitch, out uint at, out TV v) {
    const uint line = ALIGNED_C ? e / (WIDTH / 4) : uint((float(e) + 0.5) * r.reciprocal);
    const uint place = (e - line * (ALIGNED_C ? WIDTH / 4 : r.vectors)) * 4, m = m0 + line;
    const uint begin = place_of(m, n0 + (ALIGNED_C ? place : r.first), z, base, pitch), skip = before(begin);
    const uint c = ALIGNED_C ? place : r.first + skip + place;
    at = (ALIGNED_C ? begin : begin + skip + place) / 4;
    v = RESULTS(taken(from + line * LEAVE_ROW, c));
    return m < p.m && (ALIGNED_C ? n0 + c < p.n : c + 4 <= r.end);
}

// leave stores the lines of a row of matrices: first vectors of four results. A run that does not begin at a vector
// has up to three results before its first one and after its last one, which leave one by one.
void leave(const uint from, const uint invocation, const uint m0, const uint n0, const uint z, const uint base, const uint pitch) {
    if (n0 >= p.n) return;
    const uint width = min(WIDTH, p.n - n0);
    Run r;
    [[dont_unroll]] for (r.first = 0; r.first < width; r.first = r.end) {
        r.end = run_end(n0, r.first, width);
        r.vectors = (r.end - r.first) / 4;
        r.reciprocal = 1.0 / float(r.vectors);
        const uint all = MM * (ALIGNED_C ? WIDTH / 4 : r.vectors);
        if (FOURS) {
            [[dont_unroll]] for (uint first = invocation; first < all; first += 4 * LEAVERS) {
                Leaving l;
                l.any = false;
                [[unroll]] for (uint k = 0; k < 4; k++) {
                    const uint e = first + k * LEAVERS < all ? first + k * LEAVERS : first;
                    uint at;
                    TV v;
                    l.inside[k] = leaving(e, r, from, m0, n0, z, base, pitch, at, v);
                    l.any = l.any || l.inside[k];
                    l.at[k] = at;
                    l.v[k] = v;
                }
                put_leaving(l);
            }
        } else {
            [[dont_unroll]] for (uint e = invocation; e < all; e += LEAVERS) {
                uint at;
                TV v;
                if (leaving(e, r, from, m0, n0, z, base, pitch, at, v)) put_vec(at, v);
            }
        }
        if (ALIGNED_C) return;
        [[dont_unroll]] for (uint e = invocation; e < MM * 8; e += LEAVERS) {
            const uint m = m0 + e / 8, length = r.end - r.first, begin = place_of(m, n0 + r.first, z, base, pitch);
            const uint head = min(before(begin), length);
            const bool last = e % 8 >= 4;
            const uint at = last ? head + (length - head) / 4 * 4 + e % 8 - 4 : e % 8, c = r.first + at;
            if (m < p.m && at < (last ? length : head)) put_one(begin + at, RESULTS(slices[from + e / 8 * LEAVE_ROW + c / 4])[c % 4]);
        }
    }
}
