// SPDX-License-Identifier: MIT
// In the style of the main.cpp that came with Allocator: a class with an allocator of its own, one
// allocator of each mode, and the benchmark's pattern, without a clock.
#include "Allocator.h"
#include <assert.h>
#include <iostream>
#include <new>

class MyClass
{
  DECLARE_ALLOCATOR
public:
  static void Print()
  {
    std::cout << _allocator.GetName() << ": " << _allocator.GetBlockCount() << " block of "
              << (UINT)_allocator.GetBlockSize() << " bytes" << std::endl;
  }
};
IMPLEMENT_ALLOCATOR(MyClass, 0, 0)

class Base
{
  DECLARE_ALLOCATOR
public:
  virtual ~Base() {}
  virtual int Size() { return 0; }
};
IMPLEMENT_ALLOCATOR(Base, 10, NULL)

class Derived : public Base
{
public:
  int Size() { return (int)sizeof(m_data); }
private:
  char m_data[40];
};

Allocator heapBlocks(100);
Allocator heapPool(100, 20);
char staticMemory[100 * 20];
Allocator staticPool(100, 20, staticMemory);
AllocatorPool<MyClass, 20> staticPool2;

static const int MAX_BLOCKS = 10000;
static const int MAX_BLOCK_SIZE = 4096;
void* memoryPtrs[MAX_BLOCKS];
void* memoryPtrs2[MAX_BLOCKS];
AllocatorPool<char[MAX_BLOCK_SIZE], MAX_BLOCKS * 2> benchmarkPool;
Allocator benchmarkBlocks(MAX_BLOCK_SIZE);

static int handled = 0;
static void out_of_memory() { handled++; }

void Use(const char* name, Allocator& allocator, size_t size)
{
  void* p = allocator.Allocate(size);
  allocator.Deallocate(p);
  p = allocator.Allocate(size);
  allocator.Deallocate(p);
  std::cout << name << ' ' << (UINT)allocator.GetBlockSize() << ' ' << allocator.GetBlockCount()
            << ' ' << allocator.GetBlocksInUse() << std::endl;
}

void Benchmark(Allocator& allocator)
{
  int i;
  for (i = 0; i < MAX_BLOCKS; i++)
    memoryPtrs[i] = allocator.Allocate(MAX_BLOCK_SIZE / 2);
  for (i = 0; i < MAX_BLOCKS; i += 2)
    allocator.Deallocate(memoryPtrs[i]);
  for (i = 0; i < MAX_BLOCKS; i++)
    memoryPtrs2[i] = allocator.Allocate(MAX_BLOCK_SIZE);
  for (i = 1; i < MAX_BLOCKS; i += 2)
    allocator.Deallocate(memoryPtrs[i]);
  for (i = MAX_BLOCKS - 1; i >= 0; i--)
    allocator.Deallocate(memoryPtrs2[i]);
}

int main(void)
{
  std::set_new_handler(out_of_memory);

  MyClass* myClass = new MyClass();
  delete myClass;
  MyClass::Print();

  Use("heap blocks", heapBlocks, 100);
  Use("heap pool", heapPool, 100);
  Use("static pool", staticPool, 100);
  Use("template", staticPool2, sizeof(MyClass));

  Base* base = new Derived;
  std::cout << "derived " << base->Size() << std::endl;
  delete base;

  for (int i = 0; i < 20; i++)
  {
    char* p = (char*)staticPool.Allocate(100);
    if (p != staticMemory + 100 * i)
      return 1;
  }
  void* none = staticPool.Allocate(100);
  std::cout << "out of memory: " << handled + (none != NULL) << std::endl;

  for (int run = 0; run < 3; run++)
  {
    Benchmark(benchmarkPool);
    Benchmark(benchmarkBlocks);
  }
  assert(benchmarkPool.GetBlocksInUse() == 0 && benchmarkBlocks.GetBlocksInUse() == 0);
  assert(benchmarkPool.GetAllocations() == 60000 && benchmarkBlocks.GetDeallocations() == 60000);
  std::cout << "benchmark blocks " << benchmarkPool.GetBlockCount() << ' '
            << benchmarkBlocks.GetBlockCount() << std::endl;
  return 0;
}
