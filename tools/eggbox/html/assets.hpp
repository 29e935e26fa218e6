// SPDX-License-Identifier: MIT
// The files of page/. assets.cpp.in becomes the source with their contents.
#pragma once

namespace tool
{

extern const char page_html[];  // with {{style}}, {{data}} and {{script}} in it
extern const char page_style[];
extern const char page_script[];
extern const char flame_script[];
extern const char time_script[];

}  // namespace tool
