// SPDX-License-Identifier: MIT
// Layer faces: the shared pool in C++17. Lifetimes and types only; eggbox/shared.h states the cost
// of each call, the threads, and each refusal. Compiles without exceptions and without run-time
// type information: a call that can fail returns a frame that is empty, or a status.
#ifndef EGGBOX_SHARED_HPP
#define EGGBOX_SHARED_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "shared.h"

  #include <cstddef>
  #include <cstdint>
  #include <cstring>
  #include <type_traits>
  #include <utility>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// A frame that this process holds, or nothing. Its end releases it; it moves, and is not copied.
/// It must end before its pool does.
class frame
{
  public:
    frame() noexcept = default;

    frame(frame&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, {}))
    {
    }

    frame& operator=(frame&& other) noexcept
    {
        if (this != &other) {
            reset();
            pool_ = std::exchange(other.pool_, nullptr);
            data_ = std::exchange(other.data_, {});
        }
        return *this;
    }

    frame(const frame&)            = delete;
    frame& operator=(const frame&) = delete;

    ~frame()
    {
        reset();
    }

    /// Whether there is a frame.
    explicit operator bool() const noexcept
    {
        return data_.block != nullptr;
    }

    /// Releases the frame.
    void reset() noexcept
    {
        if (data_.block != nullptr) {
            egb_shared_release(pool_, data_.block);
            data_ = {};
        }
    }

    /// Its first byte; nullptr if there is none.
    [[nodiscard]] void* data() const noexcept
    {
        return data_.block;
    }

    /// Its value, for any process; all zero if there is none.
    [[nodiscard]] egb_frame handle() const noexcept
    {
        return data_.frame;
    }

    /// Its number in the feed, if it came from there or was published; else 0.
    [[nodiscard]] std::uint64_t sequence() const noexcept
    {
        return data_.sequence;
    }

    /// Frames of the feed that were gone before this one could be had.
    [[nodiscard]] std::uint64_t missed() const noexcept
    {
        return data_.missed;
    }

    /// The note that was published with it.
    template <class Note>
    [[nodiscard]] Note note() const noexcept
    {
        static_assert(std::is_trivially_copyable_v<Note>, "a note is copied byte by byte");
        static_assert(sizeof(Note) <= EGB_SHARED_NOTE_BYTES_MAX, "a note is that large at most");
        Note out{};
        std::memcpy(&out, data_.note, sizeof out);
        return out;
    }

    /// egb_shared_publish() without a note. The frame is still held.
    [[nodiscard]] egb_status publish() noexcept
    {
        return egb_shared_publish(pool_, data_.block, nullptr, &data_.sequence);
    }

    /// The same with a note, cut or filled with zeros to the pool's `note_bytes`.
    template <class Note>
    [[nodiscard]] egb_status publish(const Note& note) noexcept
    {
        static_assert(std::is_trivially_copyable_v<Note>, "a note is copied byte by byte");
        static_assert(sizeof(Note) <= EGB_SHARED_NOTE_BYTES_MAX, "a note is that large at most");
        unsigned char bytes[EGB_SHARED_NOTE_BYTES_MAX] = {};
        std::memcpy(bytes, &note, sizeof note);
        const egb_status status = egb_shared_publish(pool_, data_.block, bytes, &data_.sequence);
        if (status == EGB_OK) {
            std::memcpy(data_.note, bytes, sizeof bytes);
        }
        return status;
    }

  private:
    friend class shared_pool;

    frame(egb_shared* pool, const egb_published& data) noexcept : pool_(pool), data_(data) {}

    egb_shared*   pool_ = nullptr;
    egb_published data_ = {};
};

/// A shared pool that this process has open, or a status that says why not. Its end closes it.
class shared_pool
{
  public:
    shared_pool() noexcept = default;

    shared_pool(shared_pool&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          status_(std::exchange(other.status_, EGB_STALE))
    {
    }

    shared_pool& operator=(shared_pool&& other) noexcept
    {
        if (this != &other) {
            egb_shared_close(pool_);
            pool_   = std::exchange(other.pool_, nullptr);
            status_ = std::exchange(other.status_, EGB_STALE);
        }
        return *this;
    }

    shared_pool(const shared_pool&)            = delete;
    shared_pool& operator=(const shared_pool&) = delete;

    ~shared_pool()
    {
        egb_shared_close(pool_);
    }

    /// egb_shared_create(): look at the status.
    [[nodiscard]] static shared_pool create(const egb_shared_options& options) noexcept
    {
        shared_pool made;
        made.status_ = egb_shared_create(&made.pool_, &options);
        return made;
    }

    /// egb_shared_attach(): look at the status.
    [[nodiscard]] static shared_pool attach(const char* name, unsigned flags = 0) noexcept
    {
        shared_pool made;
        made.status_ = egb_shared_attach(&made.pool_, name, flags);
        return made;
    }

    /// egb_shared_attach_fd(): look at the status.
    [[nodiscard]] static shared_pool attach_fd(int fd, unsigned flags = 0) noexcept
    {
        shared_pool made;
        made.status_ = egb_shared_attach_fd(&made.pool_, fd, flags);
        return made;
    }

    /// EGB_OK: it is open; EGB_STALE: it never was, or was moved from; else why it could not be.
    [[nodiscard]] egb_status status() const noexcept
    {
        return status_;
    }

    explicit operator bool() const noexcept
    {
        return status_ == EGB_OK;
    }

    /// The pool for the functions of eggbox/shared.h; nullptr: it is not open.
    [[nodiscard]] egb_shared* get() const noexcept
    {
        return pool_;
    }

    /// A frame to write to; empty if there is none.
    [[nodiscard]] frame alloc() noexcept
    {
        return owned(egb_shared_alloc(pool_));
    }

    /// The same, after a wait.
    [[nodiscard]] frame alloc_wait(std::uint64_t timeout_ns) noexcept
    {
        void* block = nullptr;
        return owned(egb_shared_alloc_wait(pool_, &block, timeout_ns) == EGB_OK ? block : nullptr);
    }

    /// The frame of a handle; empty if it is gone, for certain.
    [[nodiscard]] frame open(egb_frame handle) noexcept
    {
        egb_published out = {};
        if (egb_shared_open(pool_, handle, &out.block) != EGB_OK) {
            return {};
        }
        out.frame = handle;
        return frame(pool_, out);
    }

    /// The next frame of the feed behind number `after`; empty if none came in time.
    [[nodiscard]] frame
    next(std::uint64_t after, std::uint64_t timeout_ns = EGB_SHARED_FOREVER) noexcept
    {
        egb_published out = {};
        return egb_shared_next(pool_, after, timeout_ns, &out) == EGB_OK ? frame(pool_, out)
                                                                         : frame();
    }

    /// The oldest frame of the feed, for this process alone; empty if none came in time.
    [[nodiscard]] frame take(std::uint64_t timeout_ns = EGB_SHARED_FOREVER) noexcept
    {
        egb_published out = {};
        return egb_shared_take(pool_, timeout_ns, &out) == EGB_OK ? frame(pool_, out) : frame();
    }

    /// The newest frame of the feed; empty if there is none.
    [[nodiscard]] frame latest() noexcept
    {
        egb_published out = {};
        return egb_shared_latest(pool_, &out) == EGB_OK ? frame(pool_, out) : frame();
    }

  protected:
    /// Closes a pool that is not for this program.
    void refuse() noexcept
    {
        egb_shared_close(pool_);
        pool_   = nullptr;
        status_ = EGB_INVALID;
    }

  private:
    frame owned(void* block) noexcept
    {
        egb_published out = {};
        out.block         = block;
        out.frame         = egb_shared_handle(pool_, block);
        return block == nullptr ? frame() : frame(pool_, out);
    }

    egb_shared* pool_   = nullptr;
    egb_status  status_ = EGB_STALE;
};

/// A shared pool whose blocks are objects of type T, without constructors: other processes read
/// their bytes.
template <class T>
class shared_pool_of : public shared_pool
{
    static_assert(std::is_trivially_copyable_v<T>, "other processes read its bytes");
    static_assert(alignof(T) <= 4096, "blocks are aligned to a page at most");

  public:
    using value_type = T;

    shared_pool_of() noexcept = default;

    /// The options' `block_bytes` and `block_align` are T's.
    [[nodiscard]] static shared_pool_of create(egb_shared_options options) noexcept
    {
        options.block_bytes = sizeof(T);
        options.block_align = alignof(T) > 64 ? alignof(T) : 64;
        return shared_pool_of(shared_pool::create(options));
    }

    /// EGB_INVALID if the pool's blocks are not as large as T, or if nobody can tell: it is closed,
    /// and gives no frame.
    [[nodiscard]] static shared_pool_of attach(const char* name, unsigned flags = 0) noexcept
    {
        return shared_pool_of(shared_pool::attach(name, flags));
    }

    [[nodiscard]] static shared_pool_of attach_fd(int fd, unsigned flags = 0) noexcept
    {
        return shared_pool_of(shared_pool::attach_fd(fd, flags));
    }

    /// The object in a frame of this pool; nullptr if the frame is empty.
    [[nodiscard]] static T* object(const frame& one) noexcept
    {
        return static_cast<T*>(one.data());
    }

  private:
    explicit shared_pool_of(shared_pool&& pool) noexcept : shared_pool(std::move(pool))
    {
        egb_shared_numbers numbers = {};
        if (get() != nullptr &&
            (egb_shared_stats(get(), &numbers) != EGB_OK || numbers.block_bytes != sizeof(T))) {
            refuse();
        }
    }
};

}  // namespace eggbox

EGB_QUIET_END_

#endif

#endif  // EGGBOX_SHARED_HPP
