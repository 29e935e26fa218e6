// SPDX-License-Identifier: MIT
// eggbox._core: shared pools for Python. A frame's hold and each view keep the block, and a pool is
// closed when the last of them is gone. Python classes with names and
// errors are in eggbox/_pool.py.
#include "live.hpp"

#include <eggbox/shared.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace
{

// A wait ends now and then, so that Python can answer Ctrl-C.
constexpr uint64_t slice_ns = 100000000;

struct open_pool {
    egb_shared* shared       = nullptr;
    size_t      block_bytes  = 0;
    bool        is_read_only = false;

    std::atomic<bool> is_publisher{false};

    open_pool(egb_shared* opened, bool read_only) : shared(opened), is_read_only(read_only)
    {
        egb_shared_numbers numbers = {};
        (void)egb_shared_stats(shared, &numbers);
        block_bytes = numbers.block_bytes;
    }

    open_pool(const open_pool&)            = delete;
    open_pool& operator=(const open_pool&) = delete;

    ~open_pool()
    {
        egb_shared_close(shared);
    }
};

using pool_pointer = std::shared_ptr<open_pool>;

// A block that this process holds, until the last pointer to this is gone.
struct held_block {
    pool_pointer pool;
    void*        block;

    held_block(pool_pointer of, void* start) : pool(std::move(of)), block(start) {}

    held_block(const held_block&)            = delete;
    held_block& operator=(const held_block&) = delete;

    ~held_block()
    {
        egb_shared_release(pool->shared, block);
    }
};

using block_pointer = std::shared_ptr<const held_block>;

// The exporter of a block's bytes. Each array or memoryview keeps one, and a view keeps the block:
// NumPy gives a buffer back at once, and keeps its exporter instead.
class view
{
  public:
    view(block_pointer block, bool is_writable)
        : block_(std::move(block)), is_writable_(is_writable)
    {
    }

    int fill(PyObject* self, Py_buffer* out, int flags) const
    {
        return PyBuffer_FillInfo(
            out,
            self,
            block_->block,
            static_cast<Py_ssize_t>(block_->pool->block_bytes),
            is_writable_ ? 0 : 1,
            flags
        );
    }

  private:
    block_pointer block_;
    bool          is_writable_;
};

int view_buffer(PyObject* self, Py_buffer* out, int flags)
{
    return nb::inst_ptr<view>(self)->fill(self, out, flags);
}

// A frame's own hold of its block. Its end is a call: where Python has no lock of its own, an
// object that another thread drops may live on until the thread that made it runs again.
class hold
{
  public:
    hold(pool_pointer pool, const egb_published& data, bool is_writable)
        : block_(std::make_shared<held_block>(std::move(pool), data.block)), data_(data),
          is_writable_(is_writable)
    {
    }

    void release()
    {
        block_.reset();
    }

    // None: it was released.
    nb::object new_view() const
    {
        return block_ == nullptr ? nb::none() : nb::cast(view(block_, is_writable_));
    }

    nb::tuple handle() const
    {
        return nb::make_tuple(data_.frame.pool, data_.frame.index, data_.frame.generation);
    }

    uint64_t sequence() const
    {
        return data_.sequence;
    }

    uint64_t missed() const
    {
        return data_.missed;
    }

    nb::bytes note() const
    {
        return nb::bytes(data_.note, sizeof data_.note);
    }

    // The status of egb_shared_publish(). New views are read-only afterwards.
    int publish(nb::bytes note)
    {
        const block_pointer kept = block_;
        if (kept == nullptr) {
            return EGB_STALE;
        }
        unsigned char bytes[EGB_SHARED_NOTE_BYTES_MAX] = {};
        const size_t  given = std::min<size_t>(note.size(), sizeof bytes);
        std::copy_n(note.c_str(), given, reinterpret_cast<char*>(bytes));
        uint64_t         sequence = 0;
        const egb_status status   = publish_with(*kept->pool, bytes, &sequence);
        if (status == EGB_OK) {
            std::copy_n(bytes, sizeof bytes, data_.note);
            data_.sequence = sequence;
            is_writable_   = false;
        }
        return status;
    }

  private:
    // The first publish of a process may wait for another process. Meanwhile nothing of this object
    // is locked, and other threads may read it: the number is stored afterwards.
    egb_status publish_with(open_pool& pool, const unsigned char* note, uint64_t* sequence) const
    {
        egb_status status;
        if (pool.is_publisher) {
            return egb_shared_publish(pool.shared, data_.block, note, sequence);
        }
        {
            const nb::gil_scoped_release others_run;
            status = egb_shared_publish(pool.shared, data_.block, note, sequence);
        }
        pool.is_publisher = pool.is_publisher || status == EGB_OK;
        return status;
    }

    block_pointer block_;
    egb_published data_;
    bool          is_writable_;
};

// Calls `call` with a time limit until it answers, at once with the interpreter held, then without.
template <class Call, class Ended>
egb_status wait_for(uint64_t timeout_ns, Call call, Ended is_ended)
{
    egb_status status = call(uint64_t{0});
    while (status == EGB_BUSY && timeout_ns > 0 && !is_ended()) {
        const uint64_t part = std::min(timeout_ns, slice_ns);
        {
            const nb::gil_scoped_release others_run;
            status = call(part);
        }
        timeout_ns -= timeout_ns == EGB_SHARED_FOREVER ? 0 : part;
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
    }
    return status;
}

nb::dict dict_of(const egb_shared_numbers& numbers)
{
    nb::dict out;
    out["block_bytes"]  = numbers.block_bytes;
    out["stride_bytes"] = numbers.stride_bytes;
    out["count"]        = numbers.count;
    out["keep"]         = numbers.feed_count;
    out["note_bytes"]   = numbers.note_bytes;
    out["bytes"]        = numbers.bytes;
    out["in_use"]       = numbers.in_use;
    out["only_feed"]    = numbers.only_feed;
    out["attachments"]  = numbers.attachments;
    out["published"]    = numbers.published;
    out["dropped"]      = numbers.dropped;
    out["failures"]     = numbers.failures;
    out["recovered"]    = numbers.recovered;
    return out;
}

using attachments = std::vector<egb_shared_attachment>;

// C calls it: Python's errors must not leave it. There is room.
void add_holder(const egb_shared_attachment* one, void* user)
{
    static_cast<attachments*>(user)->push_back(*one);
}

attachments room_for_holders()
{
    attachments out;
    out.reserve(EGB_SHARED_ATTACHMENTS_MAX);
    return out;
}

nb::list list_of(const attachments& all)
{
    nb::list out;
    for (const egb_shared_attachment& one : all) {
        nb::dict entry;
        entry["slot"]    = one.slot;
        entry["pid"]     = one.pid;
        entry["program"] = text_of(one.program, sizeof one.program);
        entry["alive"]   = one.is_alive;
        entry["this"]    = one.is_this;
        entry["held"]    = one.held;
        entry["missed"]  = one.missed;
        entry["waiting"] = one.waiting;
        out.append(entry);
    }
    return out;
}

class pool
{
  public:
    explicit pool(pool_pointer opened) : opened_(std::move(opened)) {}

    pool(pool&& other) noexcept : opened_(std::move(other.opened_)) {}

    pool(const pool&)            = delete;
    pool& operator=(const pool&) = delete;
    pool& operator=(pool&&)      = delete;
    ~pool()                      = default;

    void close()
    {
        cancel();
        pool_pointer last;  // it ends after the lock does
        {
            const std::lock_guard<std::mutex> guard(lock_);
            last.swap(opened_);
        }
    }

    bool is_open() const
    {
        return opened() != nullptr;
    }

    bool is_read_only() const
    {
        const pool_pointer kept = opened();
        return kept != nullptr && kept->is_read_only;
    }

    int fd() const
    {
        const pool_pointer kept = opened();
        return kept == nullptr ? -1 : egb_shared_fd(kept->shared);
    }

    nb::object alloc(uint64_t timeout_ns)
    {
        egb_published data = {};
        return answer(true, timeout_ns, data, [&](egb_shared* shared, uint64_t part) {
            const egb_status status = egb_shared_alloc_wait(shared, &data.block, part);
            data.frame              = egb_shared_handle(shared, data.block);
            return status;
        });
    }

    nb::object next(uint64_t after, uint64_t timeout_ns)
    {
        egb_published data = {};
        return answer(false, timeout_ns, data, [&](egb_shared* shared, uint64_t part) {
            return egb_shared_next(shared, after, part, &data);
        });
    }

    nb::object take(uint64_t timeout_ns)
    {
        egb_published data = {};
        return answer(false, timeout_ns, data, [&](egb_shared* shared, uint64_t part) {
            return egb_shared_take(shared, part, &data);
        });
    }

    nb::object latest()
    {
        egb_published data = {};
        return answer(false, 0, data, [&](egb_shared* shared, uint64_t) {
            return egb_shared_latest(shared, &data);
        });
    }

    nb::object open(uint32_t number, uint32_t index, uint64_t generation)
    {
        egb_published data = {};
        data.frame         = {number, index, generation};
        return answer(false, 0, data, [&](egb_shared* shared, uint64_t) {
            return egb_shared_open(shared, data.frame, &data.block);
        });
    }

    size_t recover()
    {
        const pool_pointer kept = opened();
        return kept == nullptr ? 0 : egb_shared_recover(kept->shared);
    }

    void cancel()
    {
        const pool_pointer kept = opened();
        if (kept != nullptr) {
            cancels_++;
            egb_shared_cancel(kept->shared);
        }
    }

    nb::bytes about() const
    {
        const pool_pointer kept  = opened();
        size_t             bytes = 0;
        const void* const  start =
            kept == nullptr ? nullptr : egb_shared_about(kept->shared, &bytes);
        return nb::bytes(start, start == nullptr ? 0 : bytes);
    }

    nb::dict stats() const
    {
        const pool_pointer kept    = opened();
        egb_shared_numbers numbers = {};
        (void)egb_shared_stats(kept == nullptr ? nullptr : kept->shared, &numbers);
        return dict_of(numbers);
    }

    nb::list holders() const
    {
        const pool_pointer kept = opened();
        attachments        all  = room_for_holders();
        if (kept != nullptr) {
            egb_shared_each(kept->shared, add_holder, &all);
        }
        return list_of(all);
    }

  private:
    // Another thread may close the pool meanwhile: each call keeps the open pool until its end.
    pool_pointer opened() const
    {
        const std::lock_guard<std::mutex> guard(lock_);
        return opened_;
    }

    // A hold, or the status that says why there is none.
    template <class Call>
    nb::object answer(bool is_new, uint64_t timeout_ns, egb_published& data, Call call)
    {
        const pool_pointer kept    = opened();
        const unsigned     cancels = cancels_;
        egb_status         status  = EGB_STALE;
        if (kept != nullptr) {
            status = wait_for(
                timeout_ns,
                [&](uint64_t part) { return call(kept->shared, part); },
                [&] { return cancels_ != cancels; }
            );
        }
        return status == EGB_OK ? nb::cast(hold(kept, data, is_new)) : nb::int_(int{status});
    }

    mutable std::mutex    lock_;
    pool_pointer          opened_;
    std::atomic<unsigned> cancels_{0};
};

// A name as C reads it: up to a zero byte. A text with one is refused, as the empty name is.
const char* c_name(const nb::bytes& name)
{
    return std::strlen(name.c_str()) == name.size() ? name.c_str() : "";
}

// The pool that `call` makes or opens, or its status. To map all pages may take long.
template <class Call>
nb::object opened(unsigned flags, Call call)
{
    egb_shared* shared = nullptr;
    egb_status  status;
    {
        const nb::gil_scoped_release others_run;
        status = call(&shared);
    }
    if (status != EGB_OK) {
        return nb::int_(int{status});
    }
    return nb::cast(pool(std::make_shared<open_pool>(shared, (flags & EGB_SHARED_READ_ONLY) != 0)));
}

nb::object create(
    std::optional<nb::bytes> name,
    size_t                   block_bytes,
    size_t                   count,
    size_t                   keep,
    size_t                   note_bytes,
    int                      on_full,
    unsigned                 permissions,
    unsigned                 flags,
    nb::bytes                about
)
{
    egb_shared_options options = {};
    options.name               = name ? c_name(*name) : nullptr;
    options.block_bytes        = block_bytes;
    options.count              = count;
    options.feed_count         = keep;
    options.note_bytes         = note_bytes;
    options.on_full            = static_cast<egb_shared_full>(on_full);
    options.wait_ns            = EGB_SHARED_FOREVER;
    options.permissions        = permissions;
    options.flags              = flags;
    options.about              = about.c_str();
    options.about_bytes        = about.size();
    return opened(flags, [&](egb_shared** out) { return egb_shared_create(out, &options); });
}

nb::object attach(const nb::bytes& name, unsigned flags)
{
    return opened(flags, [&](egb_shared** out) {
        return egb_shared_attach(out, c_name(name), flags);
    });
}

nb::object attach_fd(int fd, unsigned flags)
{
    return opened(flags, [&](egb_shared** out) { return egb_shared_attach_fd(out, fd, flags); });
}

// The numbers and the holders of a pool, without an attachment to it; or the status.
nb::object look(const nb::bytes& name)
{
    egb_shared_numbers numbers = {};
    attachments        holders = room_for_holders();
    const egb_status   status  = egb_shared_look(c_name(name), &numbers, add_holder, &holders);
    return status == EGB_OK ? nb::object(nb::make_tuple(dict_of(numbers), list_of(holders)))
                            : nb::int_(int{status});
}

}  // namespace

NB_MODULE(_core, module)
{
    nb::set_leak_warnings(false);  // views may live until the interpreter ends
    static PyType_Slot slots[] = {
        {Py_bf_getbuffer, reinterpret_cast<void*>(view_buffer)}, {0, nullptr}
    };
    nb::class_<view>(module, "View", nb::type_slots(slots), nb::is_final());
    nb::class_<hold>(module, "Hold", nb::is_final())
        .def_prop_ro("handle", &hold::handle)
        .def_prop_ro("sequence", &hold::sequence, nb::lock_self())
        .def_prop_ro("missed", &hold::missed)
        .def_prop_ro("note", &hold::note, nb::lock_self())
        .def("view", &hold::new_view, nb::lock_self())
        .def("publish", &hold::publish, nb::lock_self())
        .def("release", &hold::release, nb::lock_self());
    nb::class_<pool>(module, "Pool", nb::is_final())
        .def("close", &pool::close)
        .def_prop_ro("is_open", &pool::is_open)
        .def_prop_ro("read_only", &pool::is_read_only)
        .def("fd", &pool::fd)
        .def("alloc", &pool::alloc)
        .def("next", &pool::next)
        .def("take", &pool::take)
        .def("latest", &pool::latest)
        .def("open", &pool::open)
        .def("recover", &pool::recover)
        .def("cancel", &pool::cancel)
        .def("about", &pool::about)
        .def("stats", &pool::stats)
        .def("holders", &pool::holders);
    module.def(
        "create",
        &create,
        nb::arg("name").none(),
        nb::arg("block_bytes"),
        nb::arg("count"),
        nb::arg("keep"),
        nb::arg("note_bytes"),
        nb::arg("on_full"),
        nb::arg("permissions"),
        nb::arg("flags"),
        nb::arg("about")
    );
    module.def("attach", &attach);
    module.def("attach_fd", &attach_fd);
    module.def("look", &look);
    module.def("gc", &egb_shared_gc);
    module.def("live_slots", &live_slots);
    module.def("status_text", [](int status) {
        return std::string(egb_status_text(static_cast<egb_status>(status)));
    });
}
