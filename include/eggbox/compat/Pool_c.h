// SPDX-License-Identifier: MIT
// Layer faces, compatibility: Pool_c. The build installs a copy of this file as pool_c.h, for
// programs that use that name. C++ only.
#include "kenwright.h"
