// SPDX-License-Identifier: MIT
#include "run/harvest.hpp"

#include "live/running.hpp"
#include "records/marks.hpp"
#include "text/failure.hpp"
#include "text/listing.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t files_at_once = 100;  // about 20 ms, and signals wait for that time

const seen_end unseen{unseen_end, true};
const seen_end still_running{"still running", false};

// True if the process, or a new one with the same number, runs, or has ended and its parent has not
// waited for it. A running process may write its file once more.
bool has_number(std::uint64_t pid)
{
    return kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

// False for a process that has ended, whether its parent has waited for it or not.
bool has_not_ended(std::uint64_t pid)
{
    std::ifstream     file{fmt::format("/proc/{}/stat", pid)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t state = text.rfind(") ");  // the name in front of it may hold anything
    return state != std::string::npos && text[state + 2] != 'Z' && text[state + 2] != 'X';
}

using file_names = std::map<std::uint64_t, std::vector<std::string>>;

bool has(const file_names& files, std::uint64_t pid, const std::string& path)
{
    const auto found = files.find(pid);
    return found != files.end() &&
           std::find(found->second.begin(), found->second.end(), path) != found->second.end();
}

void add_name(file_names& files, std::uint64_t pid, const std::string& path)
{
    if (!has(files, pid, path)) {
        files[pid].push_back(path);
    }
}

void forget(file_names* files, std::uint64_t pid, const std::string& path)
{
    if (files == nullptr || !has(*files, pid, path)) {
        return;
    }
    std::vector<std::string>& all = (*files)[pid];
    all.erase(std::find(all.begin(), all.end(), path));
    if (all.empty()) {
        files->erase(pid);
    }
}

// The child of a fork does not ask when it began. The program that it becomes does.
std::uint64_t started_of_other(const std::vector<process_record>& records, std::uint64_t parent_pid)
{
    for (const process_record& each : records) {
        if (each.parent_pid == parent_pid && each.process_started != 0) {
            return each.process_started;
        }
    }
    return 0;
}

bool has_lower_pid(const process_record& a, const process_record& b)
{
    return std::pair{a.pid, a.is_linked} < std::pair{b.pid, b.is_linked};
}

}  // namespace

seen_end how_it_ended(const process_end& end)
{
    if (end.signal() != 0) {
        return {end.text() + " ended it", false};
    }
    return {"a system call of its own ended it with " + end.text(), true};
}

harvest::harvest(
    std::string folder, std::size_t apart_max, std::size_t stacked_max, live_file* live
)
    : folder_(std::move(folder)), apart_max_(apart_max), stacked_max_(stacked_max),
      stacked_left_(stacked_max), live_(live != nullptr && live->is_there() ? live : nullptr)
{
}

// A file has another name until it is complete.
harvest::file_names harvest::list()
{
    file_names      out;
    std::error_code error, gone;
    for (const fs::directory_entry& entry : entries_of(folder_, error)) {
        const std::string ending = entry.path().extension();
        if ((ending == report_ending && entry.is_regular_file(gone)) || ending == begun_ending ||
            ending == linked_ending || ending == failed_ending) {
            out[pid_of_name(entry.path())].push_back(entry.path().string());
        }
    }
    for (const auto& [path, text] : kept_) {
        add_name(out, pid_of_name(path), path);
    }
    trouble_ = error ? error.message() : "";
    return out;
}

// A stack is the largest part of a leak's record. A script may have any number of processes that
// leak alike: the later ones keep only their sites.
void harvest::limit_stacks(process_record& process)
{
    for (std::vector<leak_record>* const sites : {&process.leaks, &process.allocated}) {
        for (leak_record& each : *sites) {
            if (each.stack.size() > stacked_left_) {
                each.stack.clear();
            }
            stacked_left_ -= each.stack.size();
        }
    }
}

void harvest::add(process_record process)
{
    limit_stacks(process);
    if (apart_.size() < apart_max_) {
        apart_.push_back(std::move(process));
        return;
    }
    const auto [group, is_new] = together_.try_emplace(
        {process.program, process.is_linked, process.no_report, process.signal}, process
    );
    if (!is_new) {
        join(group->second, process);
    }
}

// Reads the reports of one process number. A process killed while writing leaves an incomplete
// file; its other files still count.
void harvest::take_reports(
    const std::vector<std::string>& files, std::vector<process_record> without_report
)
{
    std::vector<process_record> all = std::move(without_report);
    for (const std::string& file : files) {
        try {
            all.push_back(read(file));
        } catch (const failure& error) {
            complaints_.emplace_back(error.what());
        }
    }
    for (std::vector<process_record>& records : whole_processes(std::move(all))) {
        for (process_record& each : records) {
            add(std::move(each));
        }
    }
}

// ---- processes without a report -----------------------------------------------------------------

// Its counts are final if it had ended before they are copied. A process that went on behind its
// report, since an exec failed, has later counts in its slot: they stand in place of the report.
// `left`: the files that are taken last; null: there will be another look.
void harvest::take_slot(std::uint32_t place, bool has_ended, file_names* left)
{
    const live_slot   slot = live_->copy(place);
    const auto        pid  = slot.data.pid;
    const std::string stem = fmt::format("{}/{}-{}", folder_, pid, slot.data.started_ns);
    if (slot.data.report_bytes != 0) {
        keep_report(slot, stem, left);
    }
    const bool is_reported = slot.data.state == EGB_LIVE_REPORTED &&
                             (left == nullptr || has(*left, pid, stem + report_ending));
    if (!is_reported && slot.data.is_linked == 0) {
        take_counts(slot, stem, left);
    }
    running_.erase({place, slot.data.started_ns});
    if (has_ended) {
        live_->release(place, pid);
    }
}

// A report that its process could not write here is like the file that it would be. It stays in
// memory: the disk may be full.
void harvest::keep_report(const live_slot& slot, const std::string& stem, file_names* left)
{
    const std::string path = stem + report_ending;
    kept_[path]            = live_->report_of(slot);
    if (left != nullptr) {
        add_name(*left, slot.data.pid, path);
    }
}

process_record harvest::read(const std::string& path) const
{
    const auto kept = kept_.find(path);
    return kept == kept_.end() ? read_process(path) : parse_process(kept->second, path);
}

void harvest::remove(const std::string& path)
{
    std::error_code ignored;
    kept_.erase(path);
    fs::remove(path, ignored);
}

// Whether the report of a process that went on behind it has all requests of its slot: then it
// ended soon. If not, the slot's record gets what the report alone has.
bool harvest::says_all(const std::string& path, process_record& record) const
{
    try {
        const process_record earlier = read(path);
        record.misuse                = earlier.misuse;
        record.events                = earlier.events;
        record.leaks                 = earlier.leaks;
        record.leaked                = earlier.leaked;
        record.indirect              = earlier.indirect;
        record.reachable             = earlier.reachable;
        record.allocated             = earlier.allocated;
        record.sampling              = earlier.sampling;
        record.peak_resident_bytes =
            std::max(record.peak_resident_bytes, earlier.peak_resident_bytes);
        return earlier.requests() >= record.requests();
    } catch (const failure&) {
        return false;  // there is none, or the process was killed while it wrote
    }
}

// Takes the counts of a process whose report is missing, or may be older than its last requests.
void harvest::take_counts(const live_slot& from, const std::string& stem, file_names* left)
{
    const egb_live_slot& slot   = from.data;
    const auto           pid    = slot.pid;
    process_record       record = record_of(slot);
    if (const auto seen = running_.find({from.place, slot.started_ns}); seen != running_.end()) {
        record.arguments           = seen->second.arguments;
        record.peak_resident_bytes = seen->second.peak_resident_bytes;
    }
    if (slot.state != EGB_LIVE_REPORTED && says_all(stem + report_ending, record)) {
        return;
    }
    if (slot.state == EGB_LIVE_FAILED) {
        record.no_report = failure_reason(static_cast<int>(slot.report_error));
    } else if (slot.is_end_seen != 0) {
        record.no_report = how_it_ended({static_cast<pid_t>(pid), slot.end_status, 0}).text;
    }
    lost_[pid].push_back(std::move(record));
    for (const char* const ending : {report_ending, begun_ending, failed_ending}) {
        remove(stem + ending);
        forget(left, pid, stem + ending);
    }
}

// The slots of processes that have ended; the last time those of all.
void harvest::take_slots(file_names* left)
{
    if (live_ == nullptr || !live_->is_there()) {
        return;
    }
    for (const std::uint32_t place : live_->places()) {
        const std::uint32_t pid       = live_->pid_at(place);
        const bool          has_ended = pid != 0 && !has_number(pid);
        if (pid != 0 && !has_ended) {
            note_running(place);
        }
        if (has_ended || (pid != 0 && left != nullptr)) {
            take_slot(place, has_ended, left);
        }
    }
}

void harvest::note()
{
    if (live_ == nullptr || !live_->is_there()) {
        return;
    }
    for (const std::uint32_t place : live_->places()) {
        if (live_->pid_at(place) != 0) {
            note_running(place);
        }
    }
}

// For a process that will leave no report. A program may change its title at any time.
void harvest::note_running(std::uint32_t place)
{
    const live_slot          slot = live_->copy(place);
    std::vector<std::string> now  = arguments_now(slot.data);
    if (!now.empty()) {
        seen_running& seen       = running_[{place, slot.data.started_ns}];
        seen.arguments           = std::move(now);
        seen.peak_resident_bytes = std::max(
            seen.peak_resident_bytes, peak_resident_now(slot.data)
        );  // 0, if it ended just now
    }
}

// The programs of one process number that left no report, and why they did not, if they do not say
// it themselves.
std::vector<process_record> harvest::slots_of(std::uint64_t pid, const std::string& reason)
{
    std::vector<process_record> out = std::exchange(lost_[pid], {});
    lost_.erase(pid);
    for (process_record& each : out) {
        each.no_report       = each.no_report.empty() ? reason : each.no_report;
        each.process_started = each.process_started != 0 ? each.process_started
                                                         : started_of_other(out, each.parent_pid);
    }
    return out;
}

// Those of process numbers that have no files.
void harvest::take_lost_without(
    const file_names& files, const std::function<seen_end(std::uint64_t)>& end_of
)
{
    std::vector<std::uint64_t> pids;
    for (const auto& [pid, records] : lost_) {
        if (files.count(pid) == 0) {
            pids.push_back(pid);
        }
    }
    for (const std::uint64_t pid : pids) {
        take(pid, {}, end_of(pid));
    }
}

// Takes all files of one process number. `end`: of a process that says nothing itself.
void harvest::take(std::uint64_t pid, const std::vector<std::string>& files, const seen_end& end)
{
    const process_files its = sort_files(files, silence_reason(end.text, end.may_lack_rights));
    take_reports(its.reports, slots_of(pid, end.text));
    for (const silent_mark& each : its.silent) {
        silent_.add(each.record);
    }
    for (const std::string& file : files) {
        remove(file);
    }
}

// A file is complete if the process had ended before the folder was listed. Therefore one look()
// notes the ended processes, and the next one reads their files.
bool harvest::look()
{
    std::set<std::uint64_t> ended;
    std::size_t             taken = 0;
    take_slots(nullptr);
    const file_names all = list();
    for (const auto& [pid, files] : all) {
        if (ended_.count(pid) != 0 && taken < files_at_once) {
            take(pid, files, unseen);
            taken += files.size();
        } else if (!has_number(pid)) {
            ended.insert(pid);
        }
    }
    ended_ = std::move(ended);
    take_lost_without(all, [](std::uint64_t) { return unseen; });
    return !ended_.empty();
}

void harvest::add_silent(run_record& run) const
{
    for (silent_record& each : silent_.all()) {
        run.silent.push_back(std::move(each));
    }
}

// The processes that have ended, of all that files, slots and records tell of.
std::set<std::uint64_t> harvest::ended_now()
{
    std::set<std::uint64_t> out;
    for (const auto& [pid, files] : list()) {
        out.insert(pid);
    }
    for (const auto& [pid, records] : lost_) {
        out.insert(pid);
    }
    if (live_ != nullptr && live_->is_there()) {
        live_->forget_places();
        for (const std::uint32_t place : live_->places()) {
            out.insert(live_->pid_at(place));
        }
    }
    for (auto pid = out.begin(); pid != out.end();) {
        pid = has_not_ended(*pid) ? out.erase(pid) : std::next(pid);
    }
    return out;
}

// The processes that have ended are noted first: one that ends later, and whose report is not read
// here, counts as still running.
void harvest::finish(run_record& run, std::uint64_t first, const seen_end& its_end)
{
    const std::set<std::uint64_t> ended = ended_now();
    file_names                    left  = list();
    if (live_ != nullptr) {
        live_->forget_places();
    }
    take_slots(&left);
    // The first process gets a record of its own even if it wrote last, and also for its silence.
    if (left.count(first) != 0 || lost_.count(first) != 0) {
        const auto others = std::exchange(silent_, {});
        apart_max_++;
        stacked_left_ = stacked_max_;
        take(first, left[first], its_end);
        left.erase(first);
        add_silent(run);
        silent_ = others;
    }
    const auto end_of = [&](std::uint64_t pid) {
        return ended.count(pid) != 0 ? unseen : still_running;
    };
    for (const auto& [pid, files] : left) {
        take(pid, files, end_of(pid));
    }
    take_lost_without({}, end_of);
    for (const std::string& each : complaints_) {
        say(each);
    }
    run.unreadable = complaints_.size();
    run.processes  = std::move(apart_);
    std::sort(run.processes.begin(), run.processes.end(), has_lower_pid);
    std::stable_partition(
        run.processes.begin(),
        run.processes.end(),
        [&](const process_record& each) { return each.pid == first; }
    );
    for (auto& [program, group] : together_) {
        run.processes.push_back(std::move(group));
    }
    add_silent(run);
}

}  // namespace tool
