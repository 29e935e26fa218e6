// SPDX-License-Identifier: MIT
// Programs leave objects in blocks until the end of the process, and these objects have memory of
// the heap. LeakSanitizer took that for leaked, because it did not look into pools. (An Allocator
// with a pool of its own ends that pool with itself, and the objects left in it are leaked, as they
// were in the original.)
#include "xallocator.h"
#include "Allocator.h"
#include "elr_mpl.h"
#include "xlist.h"
#include <stdio.h>
#include <string>
#include <vector>

static const char text[] = "more text than there is room for in the object itself";

class Node
{
  XALLOCATOR
public:
  Node(Node* theNext) : numbers(1000), next(theNext) {}
  std::vector<int> numbers;
  Node* next;
};

class Blocks
{
  DECLARE_ALLOCATOR
public:
  Blocks() : name(text) {}
  std::string name;
};
IMPLEMENT_ALLOCATOR(Blocks, 0, 0)

// Not static: a compiler sees that nobody reads these, and leaves static ones out.
Node* head;
Blocks* blocks;
xlist<std::string>* names;
elr_mpl_t handles;
std::string** handle;

int main()
{
  head = new Node(new Node(NULL));
  blocks = new Blocks;
  names = new xlist<std::string>;
  names->push_back(text);
  elr_mpl_init();
  handles = elr_mpl_create(NULL, sizeof(std::string*));
  handle = (std::string**)elr_mpl_alloc(&handles);
  *handle = new std::string(text);
  puts("nothing leaked");
  return 0;
}
