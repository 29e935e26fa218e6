// SPDX-License-Identifier: MIT
// The pipeline: packets in, conversations out.
//
//     receive -> queue -> headers -> flow table -> held until the gap is filled -> read in order
//
// If the memory for a record is refused, the packet is dropped and counted. Nothing else happens.
#pragma once

#include "counts.hpp"
#include "flow_table.hpp"
#include "headers.hpp"
#include "records.hpp"
#include "stream.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace demo
{

template <class Memory>
class pipeline
{
  public:
    explicit pipeline(Memory& memory) : memory_(memory) {}

    pipeline(const pipeline&)            = delete;
    pipeline& operator=(const pipeline&) = delete;

    ~pipeline()
    {
        finish();
    }

    /// Takes one packet in. `time_us` does not fall from call to call.
    void receive(
        const unsigned char* bytes, std::uint32_t count, std::uint32_t copy, std::uint64_t time_us
    )
    {
        now_us_ = time_us;
        counts_.packets++;
        if (count > sizeof(large_packet::frame)) {
            counts_.too_long++;
        } else if (packet* const arrived = memory_.make_packet(count)) {
            *arrived = {time_us, copy, count};
            std::memcpy(arrived->frame(), bytes, count);
            queue_[queued_++] = arrived;
        } else {
            counts_.no_packet++;
            work();  // or a pool that is smaller than the queue would never be free again
        }
        if (queued_ == queue_.size()) {
            work();
        }
    }

    /// Ends every conversation, so that all memory is given back.
    const counts& finish()
    {
        work();
        while (flow* const oldest = table_.oldest()) {
            close(*oldest);
        }
        return counts_;
    }

  private:
    static constexpr std::uint64_t idle_us_max     = 15'000'000;
    static constexpr std::uint64_t gap_us_max      = 1'000'000;
    static constexpr std::uint32_t held_max        = 64;
    static constexpr std::uint32_t ready_max       = 8;
    static constexpr std::size_t   queue_count_max = 32;  // as many as a network card hands over

    void work()
    {
        for (std::size_t i = 0; i < queued_; i++) {
            sort(*queue_[i]);
        }
        queued_ = 0;
        for (flow* old = table_.oldest(); old != nullptr && now_us_ - old->last_us > idle_us_max;
             old       = table_.oldest()) {
            close(*old);
        }
    }

    void sort(packet& arrived)
    {
        headers found  = find_headers(arrived.frame(), arrived.bytes);
        found.key.copy = arrived.copy;
        switch (found.kind) {
            case transport::tcp:
                counts_.tcp++;
                take_tcp(arrived, found);
                return;
            case transport::udp:
                counts_.udp++;
                take_udp(arrived, found);
                return;
            case transport::other: break;
        }
        counts_.other++;
        memory_.drop(&arrived);
    }

    flow* find_or_make(const flow_key& key, std::uint64_t time_us)
    {
        if (flow* const known = table_.find(key)) {
            table_.touch(*known, time_us);
            return known;
        }
        flow* const made = memory_.make_flow();
        if (made == nullptr) {
            counts_.no_flow++;
            return nullptr;
        }
        *made         = {};
        made->key     = key;
        made->last_us = time_us;
        table_.add(*made);
        counts_.flows++;
        return made;
    }

    void take_udp(packet& arrived, const headers& found)
    {
        if (flow* const talk = find_or_make(found.key, arrived.time_us)) {
            counts_.datagram_bytes += found.data_bytes;
            talk->check[found.side].add(arrived.frame() + found.data_offset, found.data_here);
        }
        memory_.drop(&arrived);
    }

    // A bare acknowledgement tells nothing of a conversation that is over, or not seen yet.
    flow* find_talk(const packet& arrived, const headers& found)
    {
        if (found.data_bytes != 0 || (found.flags & flag_syn) != 0) {
            return find_or_make(found.key, arrived.time_us);
        }
        flow* const known = table_.find(found.key);
        if (known != nullptr) {
            table_.touch(*known, arrived.time_us);
        }
        return known;
    }

    void take_tcp(packet& arrived, const headers& found)
    {
        flow* const talk = find_talk(arrived, found);
        if (talk == nullptr || (found.flags & (flag_syn | flag_rst)) != 0 ||
            (found.data_bytes == 0 && (found.flags & flag_fin) == 0)) {
            memory_.drop(&arrived);
        } else {
            hold(talk->streams[found.side], arrived, found);
        }
        if (talk != nullptr) {
            move_on(*talk, found);
        }
    }

    // Applies the flags of a packet to its flow. May end the flow.
    void move_on(flow& talk, const headers& found)
    {
        if ((found.flags & flag_rst) != 0) {
            close(talk);
            return;
        }
        stream& line = talk.streams[found.side];
        if ((found.flags & flag_syn) != 0 && !line.is_open) {
            line.is_open = true;
            line.next    = found.sequence + 1;
        }
        release(line);
        if (line.held != nullptr &&
            (line.held_count > held_max || now_us_ - line.held->holder->time_us > gap_us_max)) {
            skip_gap(line);
        }
        if ((found.flags & flag_psh) != 0 || line.is_finished || line.ready_count >= ready_max) {
            read(line, talk.check[found.side]);
        }
        if (talk.streams[0].is_finished && talk.streams[1].is_finished) {
            close(talk);
        }
    }

    // Adds the packet's data to the segments that wait.
    void hold(stream& line, packet& arrived, const headers& found)
    {
        if (!line.is_open) {  // the capture began in the middle of the conversation
            line.is_open = true;
            line.next    = found.sequence;
        }
        const std::int32_t ahead = distance(line.next, found.sequence);
        segment* const     made  = is_near(ahead) ? memory_.make_segment() : nullptr;
        if (made == nullptr) {
            (is_near(ahead) ? counts_.no_segment : counts_.stray)++;
            memory_.drop(&arrived);
            return;
        }
        counts_.segments++;
        counts_.early += ahead > 0;
        const bool is_last = (found.flags & flag_fin) != 0;
        *made              = {
            nullptr,
            &arrived,
            found.sequence,
            found.data_offset,
            found.data_bytes,
            found.data_here,
            is_last
        };
        insert_held(line, *made);
    }

    // Moves the segments that follow without a gap from `held` to `ready`.
    void release(stream& line)
    {
        while (line.held != nullptr && distance(line.next, line.held->sequence) <= 0) {
            segment* const first = take_held(line);
            if (cut_front(*first, line.next - first->sequence)) {
                append_ready(line, *first);
            } else {
                counts_.repeated++;
                drop(first);
            }
        }
    }

    // Nobody sends the missing bytes again: go on behind them.
    void skip_gap(stream& line)
    {
        counts_.gaps++;
        line.next = line.held->sequence;
        release(line);
    }

    void read(stream& line, fletcher& check)
    {
        while (line.ready != nullptr) {
            segment* const first = line.ready;
            line.ready           = first->next;
            counts_.stream_bytes += first->bytes;
            check.add(first->holder->frame() + first->offset, first->here);
            drop(first);
        }
        line.ready_count = 0;
    }

    void drop(segment* one)
    {
        memory_.drop(one->holder);
        memory_.drop(one);
    }

    void close(flow& talk)
    {
        for (int side = 0; side < 2; side++) {
            while (talk.streams[side].held != nullptr) {
                skip_gap(talk.streams[side]);
            }
            read(talk.streams[side], talk.check[side]);
            counts_.check += talk.check[side].sum_of_sums * 31 + talk.check[side].sum;
        }
        table_.remove(talk);
        memory_.drop(&talk);
    }

    Memory&                              memory_;
    flow_table                           table_;
    std::array<packet*, queue_count_max> queue_{};
    std::size_t                          queued_ = 0;
    std::uint64_t                        now_us_ = 0;
    counts                               counts_{};
};

}  // namespace demo
