// SPDX-License-Identifier: MIT
// Threads that take blocks which others gave back, of all libraries that had locks. Built with
// ThreadSanitizer, next to a library that is not: it took each such block for a race.
#include "elr_mpl.h"
#include "fb_allocator.h"
#include "xallocator.h"
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xstring.h"
#include <mutex>
#include <stdio.h>
#include <string.h>
#include <thread>
#include <vector>

using namespace std;

class Job
{
  XALLOCATOR
public:
  Job() : name("the name of a job that is too long for the string itself") {}
  virtual ~Job() {}
  xstring name;
};

ALLOC_DEFINE(shared, 64, 100)
static elr_mpl_t handles;
static mutex guard;
static xqueue<Job*> jobs;

static void UseBlocks(int value)
{
  void* blocks[60];
  for (int i = 0; i < 60; i += 3)
  {
    blocks[i] = elr_mpl_alloc(&handles);
    memset(blocks[i], value, 64);
    blocks[i + 1] = ALLOC_Alloc(shared, 64);
    memset(blocks[i + 1], value, 64);
    blocks[i + 2] = xmalloc(64);
    memset(blocks[i + 2], value, 64);
  }
  for (int i = 0; i < 60; i += 3)
  {
    elr_mpl_free(blocks[i]);
    ALLOC_Free(shared, blocks[i + 1]);
    xfree(blocks[i + 2]);
  }
}

static void Work(int value)
{
  xlist<int> numbers;
  xmap<int, xstring> names;
  for (int i = 0; i < 200; i++)
  {
    UseBlocks(value);
    numbers.push_back(i);
    names[i % 50] = "a name that is too long for the string itself";
    lock_guard<mutex> held(guard);
    jobs.push(new Job);
    if (jobs.size() > 5)
    {
      delete jobs.front();
      jobs.pop();
    }
  }
}

int main()
{
  elr_mpl_init();
  handles = elr_mpl_create(NULL, 64);
  for (int round = 0; round < 5; round++)
  {
    vector<thread> threads;
    for (int i = 0; i < 4; i++)
      threads.emplace_back(Work, i);
    for (thread& one : threads)
      one.join();
  }
  while (!jobs.empty())
  {
    delete jobs.front();
    jobs.pop();
  }
  elr_mpl_finalize();
  puts("no race");
  return 0;
}
