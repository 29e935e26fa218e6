// SPDX-License-Identifier: MIT
// A library that is loaded where another one was: the same code but for the size of a frame.
#if !defined(ROOM)
  #define ROOM 16
#endif

int through(int (*call)(void));

int through(int (*call)(void))
{
    volatile char room[ROOM];
    room[0]       = 1;
    const int out = call();
    room[0]       = (char)out;
    return out;
}
