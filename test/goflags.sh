#!/bin/sh
# Prints the flags that `go build` needs for a system, given by Go's name, besides those
# of every system.
#
#   test/goflags.sh SYSTEM
set -eu
case $1 in
# Without cgo, purego defines symbols of C that FreeBSD's libraries look for in a program;
# Go's compiler allows that only to packages of the standard library. With cgo the flag
# has no effect.
freebsd) echo '-gcflags=github.com/ebitengine/purego/internal/fakecgo=-std' ;;
esac
