// SPDX-License-Identifier: MIT
// A C++ program that includes the headers of C libraries in extern "C".
extern "C" {
#include "elr_mpl.h"
#include "elr_mtx.h"
#include "fb_allocator.h"
#include "x_allocator.h"
#include "xallocator.h"
#include "Fault.h"
#include "LockGuard.h"
}
#include <stdio.h>

ALLOC_DEFINE(five, 32, 5)

int main()
{
  size_t sizes[] = {16, 32};
  elr_mpl_init();
  elr_mpl_t old    = elr_mpl_create(NULL, 64);
  elr_mpl_t later  = elr_mpl_create(&old, 64, NULL, NULL);
  elr_mpl_t multi  = elr_mpl_create_multi(NULL, 2, sizes, NULL, NULL);
  elr_mpl_t listed = elr_mpl_create_multi_2(NULL, NULL, NULL, 2, 10, 20);
  ASSERT_TRUE(elr_mpl_avail(&later) && elr_mpl_avail(&multi) && elr_mpl_avail(&listed));
  elr_mpl_finalize();
  ALLOC_Free(five, ALLOC_Alloc(five, 32));
  xfree(xmalloc(3));
  puts("as C");
  return 0;
}
