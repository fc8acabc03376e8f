package control

// The operations, the first elements of control messages.
const (
	OpLink               = 1
	OpSend               = 2
	OpExit               = 3
	OpUnlink             = 4
	OpRegSend            = 6
	OpGroupLeader        = 7
	OpExit2              = 8
	OpSendTT             = 12
	OpExitTT             = 13
	OpRegSendTT          = 16
	OpExit2TT            = 18
	OpMonitor            = 19
	OpDemonitor          = 20
	OpMonitorExit        = 21
	OpSendSender         = 22
	OpSendSenderTT       = 23
	OpPayloadExit        = 24
	OpPayloadExitTT      = 25
	OpPayloadExit2       = 26
	OpPayloadExit2TT     = 27
	OpPayloadMonitorExit = 28
	OpSpawnRequest       = 29
	OpSpawnRequestTT     = 30
	OpSpawnReply         = 31
	OpSpawnReplyTT       = 32
	OpAliasSend          = 33
	OpAliasSendTT        = 34
	OpUnlinkID           = 35
	OpUnlinkIDAck        = 36
)
