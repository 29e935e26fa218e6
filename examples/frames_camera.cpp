// SPDX-License-Identifier: MIT
// A camera and two readers, each a process of its own. Every reader sees every frame, where the
// camera wrote it; no reader makes the camera wait.
#include "eggbox/shared.hpp"

#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

struct picture {
    unsigned char pixels[480][640];
};

using pictures = eggbox::shared_pool_of<picture>;

static int read_all(const char* name, const char* what, bool is_light)
{
    pictures pool = pictures::attach(name, EGB_SHARED_READ_ONLY);
    if (!pool) {
        std::printf("%s: %s\n", what, egb_status_text(pool.status()));
        return 1;
    }
    std::uint64_t last = 0;
    int           sum  = 0;
    while (last < 5) {
        const eggbox::frame frame = pool.next(last);
        const picture*      seen  = pictures::object(frame);
        last                      = frame.sequence();
        sum += is_light ? seen->pixels[0][0] : frame.note<int>();
    }
    return sum == (is_light ? 150 : 15) ? 0 : 1;
}

int main()
{
    const std::string  name    = "camera-" + std::to_string(getpid());
    egb_shared_options options = {};
    options.name               = name.c_str();
    options.count              = 8;
    options.feed_count         = 5;
    options.note_bytes         = sizeof(int);
    options.flags              = EGB_SHARED_PREFAULT;
    pictures camera            = pictures::create(options);
    if (!camera) {
        std::printf("no camera: %s\n", egb_status_text(camera.status()));
        return 1;
    }
    int ends = 0;
    for (const bool is_light : {true, false}) {
        if (fork() == 0) {
            _exit(read_all(name.c_str(), is_light ? "light" : "time", is_light));
        }
    }
    for (int number = 1; number <= 5; number++) {
        eggbox::frame frame                   = camera.alloc();
        pictures::object(frame)->pixels[0][0] = static_cast<unsigned char>(number * 10);
        if (frame.publish(number) != EGB_OK) {
            return 1;
        }
    }
    for (int reader = 0; reader < 2; reader++) {
        int status = 0;
        (void)wait(&status);
        ends += status == 0 ? 1 : 0;
    }
    egb_shared_numbers numbers = {};
    (void)egb_shared_stats(camera.get(), &numbers);
    std::printf("%d readers saw all of %d frames\n", ends, static_cast<int>(numbers.published));
    return 0;
}
