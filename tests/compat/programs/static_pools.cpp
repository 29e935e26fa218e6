// SPDX-License-Identifier: MIT
// A program whose xallocator was built with STATIC_POOLS: 32 blocks of each size, and no heap. The
// system gives no memory from the start of main on, and eggbox has no pool at the end.
#include "Fault.h"
#include "xallocator.h"
#include "xlist.h"
#include "xmap.h"
#include <eggbox/guard.h>
#include <eggbox/heap.h>
#include <stdio.h>
#include <string.h>
#include <new>

class Record
{
  XALLOCATOR
public:
  char text[100];
};

class Early
{
public:
  Early() : memory(xmalloc(1000)) {}
  ~Early() { xfree(memory); }
  void* memory;
};
static Early early;

static int FillAndEmpty()
{
  static void* blocks[12 * 32];
  int count = 0;
  for (void* block; (block = xmalloc(8)) != NULL;)
  {
    memset(block, 0x5A, 8);
    blocks[count++] = block;
  }
  for (int i = 0; i < count; i++)
    xfree(blocks[i]);
  return count;
}

static bool IsRefused()
{
  Record* records[300];
  int count = 0;
  bool isRefused = false;
  try
  {
    while (count < 300)
    {
      records[count] = new Record;
      count++;
    }
  }
  catch (const std::bad_alloc&)
  {
    isRefused = true;
  }
  while (count > 0)
    delete records[--count];
  return isRefused && xmalloc(4096) == NULL && xrealloc(NULL, (size_t)-1) == NULL;
}

int main()
{
  egb_seal();
  // One block is the static object's, and blocks of 8 bytes are too small.
  printf("%d blocks twice: %d\n", FillAndEmpty(), FillAndEmpty());
  char* text = static_cast<char*>(xmalloc(20));
  strcpy(text, "some text");
  text = static_cast<char*>(xrealloc(text, 600));
  puts(text);
  xfree(text);
  {
    xlist<int> numbers;
    xmap<int, int> squares;
    for (int i = 0; i < 20; i++)
    {
      numbers.push_back(i);
      squares[i] = i * i;
    }
    printf("%d and %d\n", numbers.back(), squares[19]);
  }
  puts(IsRefused() ? "refused" : "not refused");
  xalloc_stats();
  egb_pool_stats stats = egb_pool_stats();
  egb_pool_get_subtree_stats(egb_pool(), &stats);
  printf("%d pools\n", (int)(stats.pools + (egb_heap_pool().generation != 0)));
  return 0;
}
