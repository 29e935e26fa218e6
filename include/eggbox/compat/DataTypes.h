/* SPDX-License-Identifier: MIT */
/* Layer faces, compatibility: the basic types of D. Lafreniere's fixed block allocators. Programs
 * written for these use the types as their own. For C and C++.
 */
#ifndef _DATA_TYPES_H
#define _DATA_TYPES_H

#include <stddef.h>

#if defined(_WIN32)
  #include <windows.h>
#else
typedef signed char    INT8;
typedef unsigned char  UINT8;
typedef signed short   INT16;
typedef unsigned short UINT16;
typedef int            INT32;
typedef unsigned int   UINT32;
typedef char           CHAR;
typedef short          SHORT;
typedef long           LONG;
typedef int            INT;
typedef unsigned int   UINT;
typedef unsigned long  DWORD;
typedef unsigned char  BYTE;
typedef unsigned short WORD;
typedef float          FLOAT;
typedef double         DOUBLE;
typedef int            BOOL;

  #ifndef FALSE
    #define FALSE 0
  #endif
  #ifndef TRUE
    #define TRUE 1
  #endif
#endif

#endif /* _DATA_TYPES_H */
