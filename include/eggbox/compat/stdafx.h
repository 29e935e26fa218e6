// SPDX-License-Identifier: MIT
// Layer faces, compatibility: empty. The demonstration programs of the fixed block allocators by
// D. Lafreniere include a header of this name, which Visual Studio compiles in advance; a program
// that has one of its own finds that first.
