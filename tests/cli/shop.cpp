// SPDX-License-Identifier: MIT
// A program that leaks, by calls of all kinds. The marks tell stacks.py which calls to find in
// which line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop
{

struct item {
    explicit item(const char* text) : name(text) {}  // mark: name

    std::string name;
};

static inline item* make_item(int number)
{
    char text[64];
    std::snprintf(text, sizeof text, "a very long name of the item with the number %02d", number);
    return new item(text);  // mark: new
}

__attribute__((noinline)) void fill_a(std::vector<item*>& items)
{
    for (int i = 0; i < 10; i++) {
        items.push_back(make_item(i));  // mark: in a
    }
}

__attribute__((noinline)) void fill_b(std::vector<item*>& items)
{
    for (int i = 0; i < 20; i++) {
        items.push_back(make_item(i));  // mark: in b
    }
}

struct node {
    std::shared_ptr<node> other;
    char                  room[100];
};

__attribute__((noinline)) void make_circle()
{
    auto one     = std::make_shared<node>();  // mark: one
    one->other   = one;
    one->room[0] = 1;
}

}  // namespace shop

extern "C" __attribute__((noinline)) void* zmalloc(std::size_t bytes)
{
    void* const block = std::malloc(bytes);
    if (block == nullptr) {
        std::abort();
    }
    return block;
}

extern "C" __attribute__((noinline)) void* my_strdup_of(const char* text)
{
    void* const block = zmalloc(std::strlen(text) + 1);
    return std::strcpy(static_cast<char*>(block), text);
}

static void* volatile kept[10];

__attribute__((noinline)) static void in_thread()
{
    kept[0] = std::malloc(777);  // mark: in the thread
}

int main()
{
    std::vector<shop::item*> a;
    std::vector<shop::item*> b;
    shop::fill_a(a);
    shop::fill_b(b);  // mark: fill b
    for (shop::item* each : a) {
        delete each;
    }
    shop::make_circle();                 // mark: circle
    kept[1] = zmalloc(5000);             // mark: wrapped
    kept[2] = my_strdup_of("a string");  // mark: copied
    kept[3] = std::malloc(3 << 20);      // mark: large
    std::thread(in_thread).join();
    for (void* volatile& each : kept) {
        each = nullptr;
    }
    std::puts("done");
}
