// SPDX-License-Identifier: MIT
// eggbox._core: shared pools for Python. A hold is what keeps a block: its bytes are there as long
// as the hold, and a pool is closed when its last hold is gone. Python classes with names and
// errors are in eggbox/_pool.py.
#include <eggbox/shared.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace
{

// A wait ends now and then, so that Python can answer Ctrl-C.
constexpr uint64_t slice_ns = 100000000;

struct open_pool {
    egb_shared* shared       = nullptr;
    size_t      block_bytes  = 0;
    bool        is_read_only = false;

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

class hold
{
  public:
    hold(pool_pointer pool, const egb_published& data, bool is_writable)
        : pool_(std::move(pool)), data_(data), is_writable_(is_writable)
    {
    }

    hold(hold&& other) noexcept
        : pool_(std::move(other.pool_)), data_(other.data_), is_writable_(other.is_writable_)
    {
    }

    hold(const hold&)            = delete;
    hold& operator=(const hold&) = delete;
    hold& operator=(hold&&)      = delete;

    ~hold()
    {
        if (pool_ != nullptr) {
            egb_shared_release(pool_->shared, data_.block);
        }
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

    bool is_writable() const
    {
        return is_writable_;
    }

    // The status of egb_shared_publish(). New views are read-only afterwards.
    int publish(nb::bytes note)
    {
        unsigned char bytes[EGB_SHARED_NOTE_BYTES_MAX] = {};
        const size_t  given = std::min<size_t>(note.size(), sizeof bytes);
        std::copy_n(note.c_str(), given, reinterpret_cast<char*>(bytes));
        const egb_status status =
            egb_shared_publish(pool_->shared, data_.block, bytes, &data_.sequence);
        if (status == EGB_OK) {
            std::copy_n(bytes, sizeof bytes, data_.note);
            is_writable_ = false;
        }
        return status;
    }

    int fill(PyObject* self, Py_buffer* out, int flags) const
    {
        return PyBuffer_FillInfo(
            out,
            self,
            data_.block,
            static_cast<Py_ssize_t>(pool_->block_bytes),
            is_writable_ ? 0 : 1,
            flags
        );
    }

  private:
    pool_pointer  pool_;
    egb_published data_;
    bool          is_writable_;
};

int hold_buffer(PyObject* self, Py_buffer* out, int flags)
{
    return nb::inst_ptr<hold>(self)->fill(self, out, flags);
}

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

void add_holder(const egb_shared_attachment* one, void* user)
{
    nb::dict entry;
    entry["slot"]    = one->slot;
    entry["pid"]     = one->pid;
    entry["program"] = nb::str(one->program);
    entry["alive"]   = one->is_alive;
    entry["this"]    = one->is_this;
    entry["held"]    = one->held;
    entry["missed"]  = one->missed;
    static_cast<nb::list*>(user)->append(entry);
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
        if (opened_ != nullptr) {
            cancel();
            opened_.reset();
        }
    }

    bool is_open() const
    {
        return opened_ != nullptr;
    }

    bool is_read_only() const
    {
        return opened_ != nullptr && opened_->is_read_only;
    }

    int fd() const
    {
        return opened_ == nullptr ? -1 : egb_shared_fd(opened_->shared);
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
        return opened_ == nullptr ? 0 : egb_shared_recover(opened_->shared);
    }

    void cancel()
    {
        if (opened_ != nullptr) {
            cancels_++;
            egb_shared_cancel(opened_->shared);
        }
    }

    nb::bytes about() const
    {
        size_t            bytes = 0;
        const void* const start =
            opened_ == nullptr ? nullptr : egb_shared_about(opened_->shared, &bytes);
        return nb::bytes(start, start == nullptr ? 0 : bytes);
    }

    nb::dict stats() const
    {
        egb_shared_numbers numbers = {};
        (void)egb_shared_stats(opened_ == nullptr ? nullptr : opened_->shared, &numbers);
        return dict_of(numbers);
    }

    nb::list holders() const
    {
        nb::list out;
        if (opened_ != nullptr) {
            egb_shared_each(opened_->shared, add_holder, &out);
        }
        return out;
    }

  private:
    // A hold, or the status that says why there is none. The pool may be closed by another thread
    // meanwhile: the call keeps it.
    template <class Call>
    nb::object answer(bool is_new, uint64_t timeout_ns, egb_published& data, Call call)
    {
        const pool_pointer kept    = opened_;
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

    pool_pointer          opened_;
    std::atomic<unsigned> cancels_{0};
};

nb::object opened(egb_status status, egb_shared* shared, unsigned flags)
{
    if (status != EGB_OK) {
        return nb::int_(int{status});
    }
    return nb::cast(pool(std::make_shared<open_pool>(shared, (flags & EGB_SHARED_READ_ONLY) != 0)));
}

nb::object create(
    std::optional<std::string> name,
    size_t                     block_bytes,
    size_t                     count,
    size_t                     keep,
    size_t                     note_bytes,
    int                        on_full,
    unsigned                   permissions,
    unsigned                   flags,
    nb::bytes                  about
)
{
    egb_shared_options options = {};
    options.name               = name ? name->c_str() : nullptr;
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
    egb_shared*      shared    = nullptr;
    const egb_status status    = egb_shared_create(&shared, &options);
    return opened(status, shared, flags);
}

nb::object attach(const std::string& name, unsigned flags)
{
    egb_shared*      shared = nullptr;
    const egb_status status = egb_shared_attach(&shared, name.c_str(), flags);
    return opened(status, shared, flags);
}

nb::object attach_fd(int fd, unsigned flags)
{
    egb_shared*      shared = nullptr;
    const egb_status status = egb_shared_attach_fd(&shared, fd, flags);
    return opened(status, shared, flags);
}

// The numbers and the holders of a pool, without an attachment to it; or the status.
nb::object look(const std::string& name)
{
    egb_shared_numbers numbers = {};
    nb::list           holders;
    const egb_status   status = egb_shared_look(name.c_str(), &numbers, add_holder, &holders);
    return status == EGB_OK ? nb::object(nb::make_tuple(dict_of(numbers), holders))
                            : nb::int_(int{status});
}

}  // namespace

NB_MODULE(_core, module)
{
    nb::set_leak_warnings(false);  // views may live until the interpreter ends
    static PyType_Slot slots[] = {
        {Py_bf_getbuffer, reinterpret_cast<void*>(hold_buffer)}, {0, nullptr}
    };
    nb::class_<hold>(module, "Hold", nb::type_slots(slots), nb::is_final())
        .def_prop_ro("handle", &hold::handle)
        .def_prop_ro("sequence", &hold::sequence)
        .def_prop_ro("missed", &hold::missed)
        .def_prop_ro("note", &hold::note)
        .def_prop_ro("writable", &hold::is_writable)
        .def("publish", &hold::publish);
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
    module.def("status_text", [](int status) {
        return std::string(egb_status_text(static_cast<egb_status>(status)));
    });
}
