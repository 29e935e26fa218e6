# SPDX-License-Identifier: MIT
# The warnings of every target of ours: errors for developers (EGGBOX_STRICT), never for users.
# -Wundef is on because a misspelt macro in an #if is otherwise silently 0; -Wtype-limits is off,
# because a comparison with 16 GiB is meant to be always false on 32-bit machines.
function(eggbox_warnings target)
  if(MSVC)
    target_compile_options(${target} PRIVATE /W4 $<$<BOOL:${EGGBOX_STRICT}>:/WX>)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-align -Wvla
    -Wno-type-limits
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${EGGBOX_STRICT}>:-Werror>)
endfunction()
