#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#extension GL_KHR_shader_subgroup_vote : require
#include "lib/operands.glsl"

// Tells whether the invocations of a subgroup have the same elements of an operand on matrix hardware as of a
// matrix of sums: each then finds the same numbers in both. Vulkan leaves that to the device. See
// synth/attention.AlikePlan.

layout(local_size_x_id = 0) in; // a subgroup
layout(constant_id = 1) const uint MM = 16; // rows
layout(constant_id = 2) const uint MN = 16; // columns

layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Out { uint v[]; };
layout(push_constant, std430) uniform Push { Out c; } p;

shared uvec4 operands[MM * MN / 8];
shared vec4 sums[MM * MN / 4];

// half_bits has a number that a type of 16 bits has exactly.
uint half_bits(const uint x) {
#if defined(F16)
    return packHalf2x16(vec2(float(x), 0));
#else
    return floatBitsToUint(float(x)) >> 16;
#endif
}

void main() {
    for (uint e = gl_LocalInvocationIndex; e < MM * MN; e += gl_WorkGroupSize.x) sums[e / 4][e % 4] = float(e);
    for (uint e = gl_LocalInvocationIndex; e < MM * MN / 2; e += gl_WorkGroupSize.x)
        operands[e / 4][e % 4] = half_bits(2 * e) | half_bits(2 * e + 1) << 16;
    barrier();
    coopmat<float, gl_ScopeSubgroup, MM, MN, gl_MatrixUseAccumulator> sum;
    coopmat<OT, gl_ScopeSubgroup, MM, MN, gl_MatrixUseA> operand;
    coopMatLoad(sum, sums, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(operand, operands, 0, MN / 8, gl_CooperativeMatrixLayoutRowMajor);
    bool alike = operand.length() == sum.length();
    [[unroll]] for (uint c = 0; c < sum.length(); c++) alike = alike && float(operand[c]) == sum[c];
    if (subgroupAll(alike) && gl_LocalInvocationIndex == 0) p.c.v[0] = 1;
}
