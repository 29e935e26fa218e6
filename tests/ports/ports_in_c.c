// SPDX-License-Identifier: MIT
// The ports in C; test_declared.cpp and test_posix.cpp have them in C++.
#if defined(__unix__) || defined(__APPLE__)
  #define _POSIX_C_SOURCE 200809L
  #include "eggbox/port/posix.h"
#endif

#define ESP_PLATFORM 1
#include "eggbox/port/freertos.h"
#include "eggbox/port/none.h"
#include "eggbox/port/spin.h"
#include "eggbox/port/threadx.h"
#include "eggbox/port/zephyr.h"

const egb_port* egb_test_port_in_c(int number);

const egb_port* egb_test_port_in_c(int number)
{
    static const egb_port* const ports[] = {
        &egb_port_none, &egb_port_zephyr, &egb_port_threadx, &egb_port_freertos
    };
    return ports[number];
}
