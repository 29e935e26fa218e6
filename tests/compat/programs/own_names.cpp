// SPDX-License-Identifier: MIT
// A program that says "using namespace std", and guards an allocator that was for one thread with
// a lock of its own: that was two, this and the library's, when Allocator.h included <mutex>. And
// it counts: there were two of `count` when xmap.h included <functional>.
#include "Allocator.h"
#include "Pool_c.h"
#include "xallocator.h"
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xstring.h"
#include <pthread.h>
#include <iostream>

using namespace std;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Allocator allocator100(100);
static Pool_c pool;
static int count = 0;
static int search = 0, sort = 0, bind = 0, reverse = 0;

static void exchange(void** one, void** other)
{
  void* p = *one;
  *one = *other;
  *other = p;
}

static void* Work(void*)
{
  for (int i = 0; i < 1000; i++)
  {
    pthread_mutex_lock(&lock);
    void* one = allocator100.Allocate(100);
    void* other = pool.Allocate();
    exchange(&one, &other);
    pool.DeAllocate(one);
    allocator100.Deallocate(other);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main()
{
  pthread_t threads[4];
  pool.CreatePool(100, 10);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, Work, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  xmap<int, char> letters;
  xset<int> numbers;
  for (count = 0; count < 10; count++)
  {
    letters[count] = 'a';
    numbers.insert(count);
  }
  if (letters.size() + numbers.size() != 20u + search + sort + bind + reverse)
    return 1;
  cout << allocator100.GetAllocations() << ", in use " << allocator100.GetBlocksInUse() << endl;
  return 0;
}
