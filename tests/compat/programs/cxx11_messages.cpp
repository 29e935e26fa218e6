// SPDX-License-Identifier: MIT
// Messages between threads as programs of C++11 have them: a queue of shared pointers, containers
// and strings of pools, and classes with each of the allocators. The headers are reached from the
// root of the include path.
#include <eggbox/compat/Allocator.h>
#include <eggbox/compat/Fault.h>
#include <eggbox/compat/Pool_c.h>
#include <eggbox/compat/elr_mpl.h>
#include <eggbox/compat/fb_allocator.h>
#include <eggbox/compat/stl_allocator.h>
#include <eggbox/compat/xallocator.h>
#include <eggbox/compat/xlist.h>
#include <eggbox/compat/xmap.h>
#include <eggbox/compat/xqueue.h>
#include <eggbox/compat/xset.h>
#include <eggbox/compat/xsstream.h>
#include <eggbox/compat/xstring.h>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

using namespace std;

class Message
{
  XALLOCATOR
public:
  Message(int theNumber, const xstring& theText) : number(theNumber), text(theText) {}
  const int number;
  const xstring text;
};

class Ticket
{
  DECLARE_ALLOCATOR
public:
  long number;
};
IMPLEMENT_ALLOCATOR(Ticket, 0, 0)

static AllocatorPool<Ticket, 5> few;
ALLOC_DEFINE(frames, 40, 3)

class Worker
{
public:
  Worker() : thread_(&Worker::Process, this) {}
  ~Worker()
  {
    Post(nullptr);
    thread_.join();
    cout << counts.size() << " kinds, " << seen.size() << " numbers, " << log.size() << " lines, "
         << counts["even"] << " even" << endl;
  }

  void Post(shared_ptr<Message> message)
  {
    lock_guard<mutex> lock(mutex_);
    queue.push(message);
    added.notify_one();
  }

private:
  void Process()
  {
    for (;;)
    {
      unique_lock<mutex> lock(mutex_);
      added.wait(lock, [this] { return !queue.empty(); });
      shared_ptr<Message> message = queue.front();
      queue.pop();
      if (!message)
        return;
      counts[message->number % 2 == 0 ? "even" : "odd"]++;
      seen.insert(message->number);
      xstringstream line;
      line << message->text << " " << message->number;
      log.push_back(line.str());
    }
  }

  mutex mutex_;
  condition_variable added;
  xqueue<shared_ptr<Message>> queue;
  xmap<xstring, int> counts;
  xset<int, greater<int>> seen;
  xlist<xstring> log;
  thread thread_;
};

int main()
{
  {
    Worker worker;
    for (int i = 0; i < 100; i++)
      worker.Post(allocate_shared<Message>(stl_allocator<Message>(), i, "a text of length"));
    worker.Post(shared_ptr<Message>(new Message(-1, "the last")));
  }
  unique_ptr<Ticket> ticket(new Ticket);
  void* blocks[] = {few.Allocate(sizeof(Ticket)), ALLOC_Alloc(frames, 40), xrealloc(NULL, 300)};
  Pool_c pool;
  pool.CreatePool(16, 2);
  elr_mpl_init();
  elr_mpl_t handle = ELR_MPL_INITIALIZER;
  handle = elr_mpl_create(NULL, 50);
  void* others[] = {pool.Allocate(), elr_mpl_alloc(&handle)};
  bool all = true;
  for (void* block : blocks)
    all = all && block != nullptr;
  for (void* block : others)
    all = all && block != nullptr;
  cout << (all ? "all" : "not all") << " served, " << few.GetBlocksInUse() << " in use" << endl;
  few.Deallocate(blocks[0]);
  ALLOC_Free(frames, blocks[1]);
  xfree(blocks[2]);
  pool.DeAllocate(others[0]);
  elr_mpl_finalize();
  return 0;
}
