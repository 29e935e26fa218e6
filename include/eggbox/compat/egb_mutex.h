// SPDX-License-Identifier: MIT
// Layer faces, compatibility: a lock for the classes of this folder. C++ only. Not the one of
// <mutex>: programs have names of their own, as lock, that would be two where they say "using
// namespace std".
#ifndef EGGBOX_COMPAT_EGB_MUTEX_H
#define EGGBOX_COMPAT_EGB_MUTEX_H

#if defined(_WIN32)
  #include <mutex>

typedef std::mutex                  egb_mutex_;
typedef std::lock_guard<std::mutex> egb_mutex_held_;
#else
  #include <pthread.h>

class egb_mutex_
{
  public:
    constexpr egb_mutex_() noexcept {}
    egb_mutex_(const egb_mutex_&)            = delete;
    egb_mutex_& operator=(const egb_mutex_&) = delete;

    void lock() noexcept
    {
        (void)pthread_mutex_lock(&mutex_);
    }

    void unlock() noexcept
    {
        (void)pthread_mutex_unlock(&mutex_);
    }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Has the lock while it lives.
class egb_mutex_held_
{
  public:
    explicit egb_mutex_held_(egb_mutex_& mutex) noexcept : mutex_(mutex)
    {
        mutex_.lock();
    }

    egb_mutex_held_(const egb_mutex_held_&)            = delete;
    egb_mutex_held_& operator=(const egb_mutex_held_&) = delete;

    ~egb_mutex_held_()
    {
        mutex_.unlock();
    }

  private:
    egb_mutex_& mutex_;
};
#endif

#endif  // EGGBOX_COMPAT_EGB_MUTEX_H
