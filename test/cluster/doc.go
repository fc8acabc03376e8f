// Package cluster tests the node as its users meet it: the program that
// cmd/nxvk-node builds, BEAMs of this machine and of other releases, the
// messages of gen/README.md, and what happens when one of them is killed.
//
// The clients are plain Erlang. nxvk_client.erl is written from gen/README.md
// alone. nxvk_suite.erl with its topics and nxvk_ops.erl say what the node must
// answer. nxvk_load.erl loads it, and nxvk_driver.erl executes the steps of a
// test in a BEAM. A test that lacks something (a driver, another release of
// Erlang) skips and says what.
package cluster
