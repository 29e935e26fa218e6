// SPDX-License-Identifier: MIT
// Layer override: libeggbox-preload.so, a library without contents that `eggbox run` preloads. It
// names libeggbox-malloc.so as its auxiliary: glibc's loader puts that in front of it. The loader
// of musl knows no auxiliaries. The child of a program that is linked with musl therefore starts
// with an empty library in it, and would not start with one that needs functions of glibc.
//
// A file has to declare something.
extern int egb_filter_;
