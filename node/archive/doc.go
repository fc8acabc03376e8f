// Package archive is a cache of small entries in a folder, which outlives the process: the node
// keeps compiled kernels there, and the keys of compiled programs. When the folder exceeds its
// limit, the least recently used entries are removed. An entry that cannot be read, written or
// verified counts as absent. The hash of the executable is part of each key, so another build
// has other entries.
//
// An entry is a file whose name is the hash of its key and whose content begins with a hash. It
// is written to a temporary file and renamed. So several nodes can share a folder, and a node
// that is killed leaves no entry that another would take for whole. The package does not know
// what the data means. Start reading at Archive.Get and Archive.Put.
package archive
