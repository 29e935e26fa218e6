// SPDX-License-Identifier: MIT
// A producer cannot run ahead of its consumer: jobs come from a pool of four, and a producer that
// finds no free one waits until a job is done. The queue itself needs no limit.
#include "eggbox/eggbox.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace
{

struct job {
    explicit job(int number_) : number(number_) {}

    int  number;
    char input[100] = {};
};

using job_ptr = eggbox::pool_ptr<job>;

struct job_queue {
    std::mutex              mutex;
    std::condition_variable filled;
    std::queue<job_ptr>     jobs;

    void put(job_ptr one)
    {
        const std::lock_guard lock(mutex);
        jobs.push(std::move(one));
        filled.notify_one();
    }

    job_ptr take()
    {
        std::unique_lock lock(mutex);
        filled.wait(lock, [this] { return !jobs.empty(); });
        job_ptr one = std::move(jobs.front());
        jobs.pop();
        return one;
    }
};

}  // namespace

int main()
{
    eggbox::pool_options options{};
    options.max_blocks = 4;
    eggbox::pool<job> pool(options);
    long              sum = 0;
    job_queue         queue;  // ends before the pool, whose jobs are in it
    std::thread       producer([handle = pool.handle(), &queue] {
        for (int number = 1;; number++) {
            const auto [made, status] = handle.make_for(eggbox::wait_forever, number);
            if (status != EGB_OK) {
                std::printf("producer: %s\n", egb_status_text(status));
                return;
            }
            queue.put(job_ptr(made));
        }
    });
    for (int done = 0; done < 1000; done++) {
        sum += queue.take()->number;  // the job ends here, and the producer gets its block
    }
    while (pool.waiting() == 0) {  // until the queue has four more
        std::this_thread::yield();
    }
    const auto late = pool.make_for(std::chrono::milliseconds(10), 0);
    std::printf("one more: %s\n", egb_status_text(late.status));
    pool.cancel();
    producer.join();
    std::printf("sum %ld, jobs in the queue: %zu\n", sum, pool.in_use());
    return 0;
}
