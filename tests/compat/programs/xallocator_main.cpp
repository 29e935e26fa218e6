// SPDX-License-Identifier: MIT
// In the style of the main.cpp that came with xallocator: static objects, a class, C memory, and
// the benchmark's pattern, without a clock.
#include "xallocator.h"
#include "Fault.h"
#include <iostream>
#include <new>

class MyClass
{
  XALLOCATOR
};

class MyClassStatic
{
public:
  MyClassStatic() { memory = xmalloc(100); }
  ~MyClassStatic() { xfree(memory); }
private:
  void* memory;
};
static MyClassStatic myClassStatic;

static void out_of_memory() { ASSERT(); }

static const int MAX_BLOCK_SIZE = 4000;
static const int MAX_ALLOCATIONS = 10000;
static void* memoryPtrs[MAX_ALLOCATIONS];
static void* memoryPtrs2[MAX_ALLOCATIONS];

typedef void* (*AllocFunc)(size_t size);
typedef void (*DeallocFunc)(void* ptr);

void Benchmark(AllocFunc allocFunc, DeallocFunc deallocFunc)
{
  int i;
  for (i = 0; i < MAX_ALLOCATIONS; i++)
    memoryPtrs[i] = allocFunc(MAX_BLOCK_SIZE / 2);
  for (i = 0; i < MAX_ALLOCATIONS; i += 2)
    deallocFunc(memoryPtrs[i]);
  for (i = 0; i < MAX_ALLOCATIONS; i++)
    memoryPtrs2[i] = allocFunc(MAX_BLOCK_SIZE);
  for (i = 1; i < MAX_ALLOCATIONS; i += 2)
    deallocFunc(memoryPtrs[i]);
  for (i = MAX_ALLOCATIONS - 1; i >= 0; i--)
    deallocFunc(memoryPtrs2[i]);
}

int main(void)
{
  srand(1);
  std::set_new_handler(out_of_memory);

  MyClass* myClass = new MyClass();
  delete myClass;
  MyClass* myClassArr = new MyClass[5];
  delete[] myClassArr;
  void* raw = xmalloc(sizeof(MyClass));
  MyClass* other = new MyClass();
  MyClass* placed = new (raw) MyClass();
  delete placed;
  delete other;

  void* memory1 = xmalloc(100);
  xfree(memory1);
  char* memory2 = (char*)xmalloc(24);
  strcpy(memory2, "TEST STRING");
  memory2 = (char*)xrealloc(memory2, 124);
  std::cout << memory2 << std::endl;
  xfree(memory2);
  ASSERT_TRUE(memory1 != NULL);

  for (int run = 0; run < 3; run++)
  {
    Benchmark(malloc, free);
    Benchmark(xmalloc, xfree);
  }
  std::cout << "benchmark done" << std::endl;
  xalloc_stats();
  return 0;
}
