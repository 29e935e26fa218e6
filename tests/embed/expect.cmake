# SPDX-License-Identifier: MIT
# cmake -DEXIT_CODE=n -P expect.cmake -- command...: fails unless the command ends with code n.
# WILL_FAIL would also be content with a program that is missing.
foreach(at RANGE ${CMAKE_ARGC})
  if(DEFINED command)
    list(APPEND command "${CMAKE_ARGV${at}}")
  elseif("${CMAKE_ARGV${at}}" STREQUAL "--")
    set(command "")
  endif()
endforeach()
execute_process(COMMAND ${command} RESULT_VARIABLE result)
if(NOT result STREQUAL EXIT_CODE)
  message(FATAL_ERROR "exit code ${result}, not ${EXIT_CODE}")
endif()
