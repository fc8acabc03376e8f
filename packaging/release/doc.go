// Command release builds what a release publishes, on one Linux machine:
//
//	make release                 from the commit of the release's tag
//	make release VERSION=0.2.0   from any commit
//
// For each target it builds the node and writes nxvk-node_VERSION_OS_ARCH.tar.gz (.zip for
// Windows) with the licences of all dependencies and a bill of materials in SPDX 2.3. It
// also writes a Debian package, and checksums.txt in GoReleaser's format. The same commit,
// Go and C compiler give the same bytes: paths, build ids and the current time do not enter.
//
// The node with C code is linked with the C library of Debian 11, whose packages have fixed
// sums, so that it starts on every system with that glibc (2.31) or a later one.
//
// GoReleaser itself is not used: it leaves the licences, the bill of materials and the C
// library to other programs, and running it compiles several hundred packages more.
package main
