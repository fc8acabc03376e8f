// Leapfrog steps of independent normal densities, by the contract of foreign
// shaders. NUM is the type of numbers; with LAG the log density is that of the
// position before the step; with ONE the shader knows one instance; LAST is the
// binding of the log densities, which a chain has at 6; with SILENT it writes
// nothing.
#version 450
#ifndef LAST
#define LAST 6
#endif
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint K, n_obs, d, instances; NUM eps; } pc;
layout(std430, set = 0, binding = 0) readonly buffer Q { NUM q_init[]; };
layout(std430, set = 0, binding = 1) readonly buffer P { NUM p_init[]; };
layout(std430, set = 0, binding = 2) readonly buffer E { NUM extras[]; };
layout(std430, set = 0, binding = 3) writeonly buffer OQ { NUM q_chain[]; };
layout(std430, set = 0, binding = 4) writeonly buffer OP { NUM p_chain[]; };
layout(std430, set = 0, binding = 5) writeonly buffer OG { NUM grad_chain[]; };
layout(std430, set = 0, binding = LAST) writeonly buffer OL { NUM logp_chain[]; };
shared NUM partial[256];

void main() {
#ifdef SILENT
    if (gl_WorkGroupID.x == 0xffffffffu) logp_chain[0] = NUM(1);
    return;
#endif
#ifdef ONE
    uint inst = 0;
#else
    uint inst = gl_WorkGroupID.x;
#endif
    uint i = gl_LocalInvocationID.x;
    bool mine = i < pc.d;
    precise NUM q = mine ? q_init[inst * pc.d + i] : NUM(0);
    precise NUM p = mine ? p_init[inst * pc.d + i] : NUM(0);
    // One number of data is the mean.
    NUM mean = pc.n_obs > 0 ? extras[inst * (pc.n_obs + pc.d)] : NUM(0);
    NUM m = mine ? extras[inst * (pc.n_obs + pc.d) + pc.n_obs + i] : NUM(0);
    for (uint k = 0; k < pc.K; k++) {
        precise NUM before = NUM(-0.5) * ((q - mean) * (q - mean));
        precise NUM half_p = p + NUM(0.5) * pc.eps * (mean - q);
        q = q + pc.eps * m * half_p;
        precise NUM g = mean - q;
        p = half_p + NUM(0.5) * pc.eps * g;
        precise NUM after = NUM(-0.5) * ((q - mean) * (q - mean));
#ifdef LAG
        partial[i] = mine ? before : NUM(0);
#else
        partial[i] = mine ? after : NUM(0);
#endif
        uint row = inst * pc.K + k;
        if (mine) {
            q_chain[row * pc.d + i] = q;
            p_chain[row * pc.d + i] = p;
            grad_chain[row * pc.d + i] = g;
        }
        for (uint half_n = 128; half_n > 0; half_n /= 2) {
            barrier();
            if (i < half_n) partial[i] += partial[i + half_n];
        }
        if (i == 0) logp_chain[row] = partial[0];
        barrier();
    }
}
