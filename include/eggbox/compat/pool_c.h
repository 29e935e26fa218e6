// SPDX-License-Identifier: MIT
// Layer faces, compatibility: Pool_c, under either of the names that its file has in programs. The
// two files are the same, for systems to which the names are. C++ only.
#include "kenwright.h"
