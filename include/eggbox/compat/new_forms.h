// SPDX-License-Identifier: MIT
// Layer faces, compatibility: what the macros that give classes their operator new share. C++ only;
// a program may include the headers with these macros in an extern "C" of its own.
#ifndef EGGBOX_COMPAT_NEW_FORMS_H
#define EGGBOX_COMPAT_NEW_FORMS_H

extern "C++" {

#include <new>
#include <type_traits>

// Forms that the originals' macros did not have are templates: a class that has its own keeps that.
template <class Tag>
using egb_if_nothrow_ = std::enable_if_t<std::is_same<Tag, std::nothrow_t>::value, int>;
}

#endif  // EGGBOX_COMPAT_NEW_FORMS_H
