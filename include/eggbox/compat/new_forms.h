// SPDX-License-Identifier: MIT
// Layer faces, compatibility: shared by the macros that give classes their operator new. C++ only.
// A program may include the headers with these macros inside its own extern "C".
#ifndef EGGBOX_COMPAT_NEW_FORMS_H
#define EGGBOX_COMPAT_NEW_FORMS_H

extern "C++" {

#include <new>
#include <type_traits>

// Forms of new that the originals' macros lacked are templates, so that a class can have its own.
template <class Tag>
using egb_if_nothrow_ =
    typename std::enable_if<std::is_same<Tag, std::nothrow_t>::value, int>::type;
}

#endif  // EGGBOX_COMPAT_NEW_FORMS_H
