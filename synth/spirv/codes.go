package spirv

// Opcodes, and the numbers of the enumerations that are used, as in the SPIR-V
// specification.
const (
	opExtension            = 10
	opExtInstImport        = 11
	opExtInst              = 12
	opMemoryModel          = 14
	opEntryPoint           = 15
	opExecutionMode        = 16
	opCapability           = 17
	opTypeVoid             = 19
	opTypeBool             = 20
	opTypeInt              = 21
	opTypeFloat            = 22
	opTypeVector           = 23
	opTypeArray            = 28
	opTypeRuntimeArray     = 29
	opTypeStruct           = 30
	opTypePointer          = 32
	opTypeFunction         = 33
	opConstantTrue         = 41
	opConstantFalse        = 42
	opConstant             = 43
	opConstantComposite    = 44
	opFunction             = 54
	opFunctionEnd          = 56
	opVariable             = 59
	opLoad                 = 61
	opStore                = 62
	opAccessChain          = 65
	opDecorate             = 71
	opMemberDecorate       = 72
	opCompositeConstruct   = 80
	opCompositeExtract     = 81
	opConvertFToU          = 109
	opConvertFToS          = 110
	opConvertSToF          = 111
	opConvertUToF          = 112
	opUConvert             = 113
	opSConvert             = 114
	opFConvert             = 115
	opBitcast              = 124
	opSNegate              = 126
	opFNegate              = 127
	opIAdd                 = 128
	opFAdd                 = 129
	opISub                 = 130
	opFSub                 = 131
	opIMul                 = 132
	opFMul                 = 133
	opUDiv                 = 134
	opSDiv                 = 135
	opFDiv                 = 136
	opUMod                 = 137
	opUMulExtended         = 151
	opLogicalEqual         = 164
	opLogicalNotEqual      = 165
	opLogicalOr            = 166
	opLogicalAnd           = 167
	opLogicalNot           = 168
	opSelect               = 169
	opIEqual               = 170
	opINotEqual            = 171
	opULessThan            = 176
	opSLessThan            = 177
	opULessThanEqual       = 178
	opSLessThanEqual       = 179
	opFOrdEqual            = 180
	opFUnordNotEqual       = 183
	opFOrdLessThan         = 184
	opFOrdLessThanEqual    = 188
	opShiftRightLogical    = 194
	opShiftRightArithmetic = 195
	opShiftLeftLogical     = 196
	opBitwiseOr            = 197
	opBitwiseXor           = 198
	opBitwiseAnd           = 199
	opNot                  = 200
	opBitCount             = 205
	opControlBarrier       = 224
	opPhi                  = 245
	opLoopMerge            = 246
	opSelectionMerge       = 247
	opLabel                = 248
	opBranch               = 249
	opBranchConditional    = 250
	opReturn               = 253
)

const (
	capShader            = 1
	capFloat64           = 10
	capInt64             = 11
	capInt16             = 22
	capInt8              = 39
	capStorage16         = 4433
	capStorage8          = 4448
	capDenormPreserve    = 4464
	capPreserve          = 4466
	capRoundEven         = 4467
	capPhysicalAddresses = 5347

	modeLocalSize      = 17
	modeDenormPreserve = 4459
	modePreserve       = 4461
	modeRoundEven      = 4462

	decorBlock         = 2
	decorArrayStride   = 6
	decorBuiltIn       = 11
	decorAliased       = 20
	decorNonWritable   = 24
	decorBinding       = 33
	decorDescriptorSet = 34
	decorOffset        = 35
	decorNoContraction = 42

	builtinNumWorkgroups = 24
	builtinWorkgroupID   = 26
	builtinLocalID       = 27

	classInput           = 1
	classWorkgroup       = 4
	classPrivate         = 6
	classPushConstant    = 9
	classStorageBuffer   = 12
	classPhysicalStorage = 5349

	scopeWorkgroup  = 2
	semanticsShared = 0x108 // AcquireRelease | WorkgroupMemory
	accessAligned   = 2
	addressLogical  = 0
	addressPhysical = 5348
	memoryGLSL450   = 1
	modelGLCompute  = 5
	glslRoundEven   = 2
	glslTrunc       = 3
	glslFloor       = 8
	glslCeil        = 9
	glslSqrt        = 31
	glslFma         = 50
	glslFindUMsb    = 75
	version13       = 0x00010300
	version15       = 0x00010500
	magic           = 0x07230203
)
