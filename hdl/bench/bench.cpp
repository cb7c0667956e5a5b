// The test bench of all pipelines: one beat a clock, every answer compared, clocks counted.
//
// bench IMAGE BEATS STAGES STAGE_CLOCKS LATENCY even|rough
//
// `even`: the memories are never busy. The bench asserts that every beat is taken in its clock, and
// that every answer comes exactly STAGES * STAGE_CLOCKS clocks later (plus those of the memories
// off chip): so there is one answer a clock. Before, it sends some addresses alone, and asserts that
// the near memory is read after those stages and the two clocks of a queue.
// `rough`: the memories are busy at random and answer late, beats come with gaps, and the pipeline is
// reset in the middle. The bench asserts that all answers come, in order, and that the queues were
// full.
//
// The exit status is 0 if all holds; else 1, and the first differences are printed.
#include "Vtop.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

// The first number of a memory off chip; see crates/fibula-hdl.
constexpr uint32_t NEAR = 32, FAR = 33;
// The clocks of an empty queue.
constexpr uint64_t QUEUE = 2;
// The addresses that are sent alone.
constexpr size_t ALONE = 64;

struct Run { uint32_t memory, index, count, zero; uint64_t data; };
struct Beat {
    uint8_t flags, memory;
    uint16_t zero;
    uint32_t address, before, after, index, zero_too;
    uint64_t data;
};
static_assert(sizeof(Run) == 24 && sizeof(Beat) == 32, "the records are as they are written");

template <typename Record> std::vector<Record> read(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (!file) { std::perror(path); std::exit(2); }
    std::vector<Record> records;
    Record record;
    while (std::fread(&record, sizeof record, 1, file) == 1) records.push_back(record);
    std::fclose(file);
    return records;
}

// A small generator (xorshift), so that a run is the same everywhere.
struct Random {
    uint64_t state = 0x9E3779B97F4A7C15;
    uint32_t below(uint32_t bound) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        return uint32_t((state >> 32) % bound);
    }
};

// A memory off chip: answers in the order of the reads, each at least `latency` clocks later.
struct Memory {
    std::vector<uint32_t> words;
    std::deque<std::pair<uint64_t, uint32_t>> under_way;
    uint64_t busy_clocks = 0;
    bool ready = true;

    void store(uint32_t index, uint32_t data) {
        if (words.size() <= index) words.resize(size_t(index) + 1 + words.size() / 2);
        words[index] = data;
    }
    uint32_t load(uint32_t index) const { return index < words.size() ? words[index] : 0; }
};

struct Expected { uint64_t clock; uint32_t address, before, after; };

class Bench {
public:
    Bench(uint32_t on_chip, uint32_t latency, bool rough) : on_chip_(on_chip), latency_(latency), rough_(rough) {
#ifdef OFF_CHIP
        // A queue takes two clocks, and so does the queue of a memory's answers, twice.
        clocks_ = on_chip + 2 * (latency + QUEUE + QUEUE);
#else
        clocks_ = on_chip;
#endif
    }

    void load(const std::vector<Run>& runs) {
        reset();
        for (const Run& run : runs) {
            for (uint32_t at = 0; at < run.count; at++) {
                if (run.memory == NEAR) near_.store(run.index + at, uint32_t(run.data));
                else if (run.memory == FAR) far_.store(run.index + at, uint32_t(run.data));
                else offer(Beat{2, uint8_t(run.memory), 0, 0, 0, 0, run.index + at, 0, run.data});
            }
        }
        drain();
    }

#ifdef OFF_CHIP
    // Sends addresses from before the first change alone: no beat is in the pipeline but theirs, so
    // the first read of the near memory is of the address and tells how long it was on chip.
    void alone(const std::vector<Beat>& beats) {
        if (rough_) return;
        for (size_t at = 0; at < beats.size() && at < ALONE && beats[at].flags == 1; at++) {
            near_reads_ = 0;
            const uint64_t start = clock_;
            offer(beats[at]);
            drain();
            if (near_reads_ == 0) continue;
            read_alone_++;
            if (first_read_ - start != on_chip_ + QUEUE && !misplaced_++)
                std::printf("a read off chip after %llu clocks, expected %llu\n",
                            (unsigned long long)(first_read_ - start), (unsigned long long)(on_chip_ + QUEUE));
        }
        sent_alone_ = answers_;
        if (read_alone_ == 0) { std::printf("no address that is sent alone reads off chip\n"); misplaced_++; }
    }
#endif

    void run(const std::vector<Beat>& beats) {
#ifdef OFF_CHIP
        alone(beats);
#endif
        tested_ = true;
        const uint64_t first = clock_;
        for (size_t at = 0; at < beats.size(); at++) {
            if (rough_) {
                busy_ = at / 4096 % 2;
                while (top_random_.below(8) == 0) idle();
                if (at == beats.size() / 2) reset_and_replay(beats, at);
            }
            offer(beats[at]);
        }
        offered_clocks_ = clock_ - first;
        busy_ = false;
        drain();
    }

    int report(const char* name, size_t beats) const {
        const uint64_t answers = answers_ - sent_alone_;
        std::printf("%s: %llu answers of %zu addresses, %llu wrong, %llu third, %llu late, %.3f beats a clock,"
                    " %llu clocks each, %llu on chip, %llu clocks refused, %llu dropped by reset, %llu during changes\n",
                    name, (unsigned long long)answers, beats, (unsigned long long)wrong_,
                    (unsigned long long)third_, (unsigned long long)(late_ + misplaced_),
                    double(beats) / double(offered_clocks_), (unsigned long long)clocks_,
                    (unsigned long long)on_chip_, (unsigned long long)refused_, (unsigned long long)dropped_,
                    (unsigned long long)between_);
        bool good = wrong_ == 0 && third_ == 0 && late_ == 0 && misplaced_ == 0;
        good = good && answers + dropped_ == beats && answers > 0;
        if (!rough_) good = good && offered_clocks_ == beats && dropped_ == 0;
#ifdef OFF_CHIP
        // Busy memories must have filled the queues, or their stalls were not tested.
        if (rough_) good = good && refused_ > 0;
#endif
        if (rough_) good = good && dropped_ > 0;
        return good ? 0 : 1;
    }

private:
    Vtop top_;
    Memory near_, far_;
    Random top_random_;
    std::deque<Expected> expected_;
    uint64_t on_chip_, latency_, clocks_, clock_ = 0, answers_ = 0, wrong_ = 0, third_ = 0, late_ = 0;
    uint64_t near_reads_ = 0, first_read_ = 0, read_alone_ = 0, sent_alone_ = 0, misplaced_ = 0;
    uint64_t offered_clocks_ = 1, refused_ = 0, dropped_ = 0, between_ = 0, shown_ = 0;
    bool rough_, busy_ = false, tested_ = false;

#ifdef OFF_CHIP
    // Sets what a memory says in this clock.
    template <typename Valid, typename Data, typename Ready>
    void present(Memory& memory, Valid& valid, Data& data, Ready& ready) {
        memory.ready = !busy_ || top_random_.below(3) != 0;
        ready = memory.ready;
        const bool due = !memory.under_way.empty() && memory.under_way.front().first <= clock_;
        valid = due && (!busy_ || top_random_.below(4) != 0);
        data = valid ? memory.under_way.front().second : 0;
    }
    // Takes what a pipeline says to a memory in this clock. A read sees no write of its own request.
    template <typename Index, typename Data>
    void take(Memory& memory, bool answered, bool valid, bool reads, Index read, bool writes, Index index, Data data) {
        if (answered) memory.under_way.pop_front();
        if (!valid || !memory.ready) return;
        if (reads) memory.under_way.emplace_back(clock_ + latency_, memory.load(uint32_t(read)));
        if (writes) memory.store(uint32_t(index), uint32_t(data));
    }
#endif

    // One clock with the inputs as they are. Returns whether an offered beat was taken.
    bool tick() {
#ifdef OFF_CHIP
        present(near_, top_.near_answer_valid, top_.near_answer_data, top_.near_ready);
        present(far_, top_.far_answer_valid, top_.far_answer_data, top_.far_ready);
#endif
        top_.clock = 0;
        top_.eval();
        const bool taken = top_.in_ready;
        if (top_.out_valid && !top_.reset) compare(uint32_t(top_.out_next_hop));
#ifdef OFF_CHIP
        if (!top_.reset) {
            if (top_.near_valid && top_.near_read && near_reads_++ == 0) first_read_ = clock_;
            take(near_, top_.near_answer_valid, top_.near_valid, top_.near_read, top_.near_read_index,
                 top_.near_write, top_.near_write_index, top_.near_write_data);
            take(far_, top_.far_answer_valid, top_.far_valid, top_.far_read, top_.far_read_index,
                 top_.far_write, top_.far_write_index, top_.far_write_data);
        }
#endif
        top_.clock = 1;
        top_.eval();
        clock_++;
        return taken;
    }

    void compare(uint32_t answer) {
        if (expected_.empty()) { difference("an answer without an address", 0, answer, 0, 0); wrong_++; return; }
        const Expected beat = expected_.front();
        expected_.pop_front();
        answers_++;
        if (answer != beat.before && answer != beat.after) {
            if (beat.before != beat.after) third_++; else wrong_++;
            difference("wrong", beat.address, answer, beat.before, beat.after);
        }
        if (beat.before != beat.after) between_++;
        if (!rough_ && clock_ - beat.clock != clocks_) {
            if (!late_++) std::printf("an answer after %llu clocks, expected %llu\n",
                                      (unsigned long long)(clock_ - beat.clock), (unsigned long long)clocks_);
        }
    }

    void difference(const char* what, uint32_t address, uint32_t answer, uint32_t before, uint32_t after) {
        if (shown_++ < 3) std::printf("%s: %08x is answered %u, expected %u or %u\n", what, address, answer, before, after);
    }

    void offer(const Beat& beat) {
        top_.in_valid = beat.flags & 1;
        top_.in_address = beat.address;
        top_.write_valid = beat.flags >> 1 & 1;
        top_.write_memory = beat.memory;
        top_.write_index = beat.index;
        top_.write_data = beat.data;
        const uint64_t start = clock_;
        for (;;) {
            const uint64_t clock = clock_;
            // Answers of this clock belong to earlier beats, so this one is expected after it.
            if (tick()) {
                if (beat.flags & 1) expected_.push_back({clock, beat.address, beat.before, beat.after});
                break;
            }
            if (tested_) refused_++;
            if (clock_ - start > 100000) { std::printf("a beat is never taken\n"); std::exit(1); }
        }
        top_.in_valid = top_.write_valid = 0;
    }

    void idle() { tick(); }

    void drain() {
        for (uint64_t clocks = 0; clocks < 4 * (clocks_ + 64) || !expected_.empty(); clocks++) {
            if (clocks > 100000) { std::printf("%zu answers never came\n", expected_.size()); break; }
            idle();
        }
    }

    void reset() {
        top_.reset = 1;
        for (int clocks = 0; clocks < 4; clocks++) idle();
        top_.reset = 0;
    }

    // A reset drops the lookups and the words under way. The words are written again before the next
    // address: writing a word twice is writing it once.
    void reset_and_replay(const std::vector<Beat>& beats, size_t at) {
        dropped_ += expected_.size();
        expected_.clear();
        near_.under_way.clear();
        far_.under_way.clear();
        reset();
        for (size_t again = at < 4096 ? 0 : at - 4096; again < at; again++) {
            if (!(beats[again].flags & 2)) continue;
            Beat word = beats[again];
            word.flags = 2;
            offer(word);
        }
    }
};

} // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: bench IMAGE BEATS STAGES STAGE_CLOCKS LATENCY even|rough\n");
        return 2;
    }
    const auto beats = read<Beat>(arguments[2]);
    const bool rough = std::strcmp(arguments[6], "rough") == 0;
    const int on_chip = std::atoi(arguments[3]) * std::atoi(arguments[4]);
    auto bench = std::make_unique<Bench>(on_chip, std::atoi(arguments[5]), rough);
    bench->load(read<Run>(arguments[1]));
    bench->run(beats);
    return bench->report(arguments[6], beats.size());
}
