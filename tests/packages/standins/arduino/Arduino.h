// SPDX-License-Identifier: MIT
// In place of the core of a board: a sketch prints to the standard output.
#include <cstdio>

struct serial_port {
    void begin(unsigned long) {}
    void print(const char* text)
    {
        std::printf("%s", text);
    }
    void print(unsigned long number)
    {
        std::printf("%lu", number);
    }
    template <typename Value>
    void println(Value value)
    {
        print(value);
        print("\n");
    }
};
static serial_port Serial;

void setup();

int main()
{
    setup();
}
