# SPDX-License-Identifier: MIT
# Rooms: the sub-folders of a folder, and which of them each may use. The table of rooms is in a
# Markdown file, for people, scripts/rooms.py and CMake alike.

# eggbox_room_uses(TABLE ROOM out): the rooms that the row of ROOM names, as a list.
function(eggbox_room_uses table room out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} row REGEX "^\\| `${room}/` \\|")
  if(NOT row)
    message(FATAL_ERROR "${table} has no row for the room ${room}/")
  endif()
  string(REGEX REPLACE "^.*\\|([^|]*)\\|$" "\\1" cell "${row}")
  string(REGEX MATCHALL "`[^`]+/`" uses "${cell}")
  list(TRANSFORM uses REPLACE "[`/]" "")
  set(${out} ${uses} PARENT_SCOPE)
endfunction()

# eggbox_room_includes(TABLE ROOM out): a folder for ROOM's include path. It has links to the rooms
# that ROOM may use and to ROOM itself: a file can only include "room/header" of these.
function(eggbox_room_includes table room out)
  eggbox_room_uses(${table} ${room} uses)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/rooms/${room})
  file(REMOVE_RECURSE ${folder})
  file(MAKE_DIRECTORY ${folder})
  foreach(used IN LISTS uses ITEMS ${room})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${used} ${folder}/${used} SYMBOLIC)
  endforeach()
  set(${out} ${folder} PARENT_SCOPE)
endfunction()
