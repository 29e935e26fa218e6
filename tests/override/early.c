// SPDX-License-Identifier: MIT
// Preloaded behind the library, so that its constructor would run first if the library did not see
// to it that its own does. It takes more places than the C library has at hand for thread-specific
// values and for calls around a fork: from then on the C library allocates some in the middle of a
// call, with a lock held that the first malloc needs.
#include <pthread.h>

static void nothing(void) {}

__attribute__((constructor)) static void take_all(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_key_t key;
        (void)pthread_key_create(&key, NULL);
    }
    for (int i = 0; i < 100; i++) {
        (void)pthread_atfork(nothing, nothing, nothing);
    }
}
