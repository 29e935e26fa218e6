// SPDX-License-Identifier: MIT
// In the style of the main.cpp that came with stl_allocator: one of each container, and the three
// patterns of the benchmark, without a clock.
#include <new>
#include <iostream>
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"
#include "Fault.h"

using namespace std;

static int MAX_BENCHMARK = 10000;

static void out_of_memory() { ASSERT(); }

size_t ListTest()
{
  xlist<int> myList;
  for (int i = 0; i < MAX_BENCHMARK; i++)
    myList.push_back(123);
  size_t size = myList.size();
  myList.clear();
  return size;
}

size_t MapTest()
{
  xmap<int, char> myMap;
  for (int i = 0; i < MAX_BENCHMARK; i++)
    myMap[i] = 'a';
  size_t size = myMap.size();
  myMap.clear();
  return size;
}

size_t StringTest()
{
  xlist<xstring> myList;
  for (int i = 0; i < MAX_BENCHMARK; i++)
  {
    xstring myString("benchmark");
    for (int j = 0; j < 13; j++)
      myString += " benchmark test";
    myList.push_back(myString);
  }
  size_t size = myList.size();
  myList.clear();
  return size;
}

int main(void)
{
  std::set_new_handler(out_of_memory);

  xlist<int> myList;
  myList.push_back(123);
  xmap<char, int> myMap;
  myMap['a'] = 10;
  xqueue<int> myQueue;
  myQueue.push(123);
  xset<xstring> mySet;
  mySet.insert("hello");
  mySet.insert("world");
  xmultimap<int, xstring> myMultimap;
  myMultimap.insert(pair<const int, xstring>(1, "one"));
  xmultiset<int> myMultiset;
  myMultiset.insert(1);
  xstringstream myStringStream;
  myStringStream << "hello world " << 2016;
  xwstringstream myWStringStream;
  myWStringStream << L"hello world " << 2016 << ends;
  xostringstream myOStringStream;
  myOStringStream << 1;
  xstring myString("hello world");
  xwstring myWString(L"a string that is too long for the string itself");

  cout << myStringStream.str() << endl << myString << endl;
  size_t lists = 0, maps = 0, strings = 0;
  for (int run = 0; run < 3; run++)
  {
    lists = ListTest();
    maps = MapTest();
    strings = StringTest();
  }
  cout << "list " << lists << ", map " << maps << ", strings " << strings << endl;
  xalloc_stats();
  return 0;
}
