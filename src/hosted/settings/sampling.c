// SPDX-License-Identifier: MIT
#include "sampling.h"

#include "../../core/util.h"
#include "../../os/os.h"

static uint64_t                 period = EGB_SAMPLE_PERIOD;  // atomic
EGB_AMONG_DATA_ static uint64_t seed;                        // atomic; of the next sampler
EGB_AMONG_DATA_ static bool     is_steady;                   // atomic; for tests

// Samples of the process, in windows of so many, at most one in so many nanoseconds.
enum { PACE_NS = 2000000, WINDOW_SAMPLES = 64, HALVINGS_MAX = 12 };
EGB_AMONG_DATA_ static uint64_t samples_taken;    // atomic
EGB_AMONG_DATA_ static uint64_t window_began;     // atomic; when the window began, in nanoseconds
EGB_AMONG_DATA_ static uint32_t period_halvings;  // atomic

// ---- the setting --------------------------------------------------------------------------------

// The power of two that a letter behind a number stands for. -1: it stands for none.
static int power_of(const char* letter)
{
    const bool is_last = *letter == '\0' || letter[1] == '\0';
    switch (*letter | ('a' ^ 'A')) {
        case 'k': return is_last ? 10 : -1;
        case 'm': return is_last ? 20 : -1;
        case 'g': return is_last ? 30 : -1;
        default: return *letter == '\0' ? 0 : -1;
    }
}

// 0: the text is no number of bytes, or too large.
static uint64_t read_bytes(const char* text)
{
    uint64_t number = 0;
    while (*text >= '0' && *text <= '9' && number <= EGB_SAMPLE_PERIOD_MAX) {
        number = number * 10 + (uint64_t)(*text++ - '0');
    }
    const int power = power_of(text);
    return power < 0 || number > (uint64_t)EGB_SAMPLE_PERIOD_MAX >> power ? 0 : number << power;
}

void egb_sampling_read_(const char* text)
{
    static const char wrong[] = "eggbox: EGGBOX_SAMPLE is not a number of bytes from 1 to 1g, such "
                                "as 512k; it is ignored\n";
    const bool        is_set  = text != NULL && *text != '\0';
    const uint64_t    bytes   = is_set ? read_bytes(text) : EGB_SAMPLE_PERIOD;
    if (bytes == 0) {
        egb_os_write_error_(wrong, sizeof wrong - 1);
    }
    __atomic_store_n(&period, bytes == 0 ? EGB_SAMPLE_PERIOD : bytes, __ATOMIC_RELAXED);
    egb_sampling_seed_(egb_os_nanoseconds_());
    __atomic_store_n(&is_steady, false, __ATOMIC_RELAXED);
}

uint64_t egb_sampling_period_(void)
{
    return __atomic_load_n(&period, __ATOMIC_RELAXED);
}

// ---- random numbers -----------------------------------------------------------------------------

void egb_sampling_seed_(uint64_t first)
{
    __atomic_store_n(&seed, first, __ATOMIC_RELAXED);
    __atomic_store_n(&window_began, egb_os_nanoseconds_(), __ATOMIC_RELAXED);
    __atomic_store_n(&period_halvings, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&is_steady, true, __ATOMIC_RELAXED);
}

// SplitMix64: G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators",
// 2014.
static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
    number = (number ^ number >> 27) * 0x94D049BB133111EBu;
    return number ^ number >> 31;
}

static const uint64_t STEP = 0x9E3779B97F4A7C15u;

uint32_t egb_sampler_random_(egb_sampler* sampler)
{
    sampler->random += STEP;
    return (uint32_t)(mixed(sampler->random) >> 32);
}

// J. von Neumann, "Various techniques used in connection with random digits", 1951: a number of
// exponential distribution by comparisons alone. A number is accepted if the run of ever smaller
// ones that it begins is odd, which has the probability exp(-number).
static uint64_t bytes_to_next(egb_sampler* sampler)
{
    const uint64_t bytes = egb_sampling_period_() << sampler->halvings;
    for (uint64_t whole = 0;; whole++) {
        const uint32_t first  = egb_sampler_random_(sampler);
        uint32_t       last   = first;
        bool           is_odd = true;
        for (uint32_t one = egb_sampler_random_(sampler); one < last;
             one          = egb_sampler_random_(sampler)) {
            last   = one;
            is_odd = !is_odd;
        }
        if (is_odd) {
            return whole * bytes + (bytes * first >> 32);
        }
    }
}

// ---- blocks -------------------------------------------------------------------------------------

// For a sampler that begins, or whose period has changed. The rest of the distance may be drawn
// anew: an exponential distribution has no memory.
static EGB_COLD void draw_anew(egb_sampler* sampler, uint32_t times)
{
    if (sampler->random == 0) {
        sampler->random = mixed(__atomic_add_fetch(&seed, STEP, __ATOMIC_RELAXED)) | 1;
    }
    sampler->halvings = times;
    sampler->left     = bytes_to_next(sampler);
}

static void set_halvings(uint32_t times)
{
    if (times <= HALVINGS_MAX && egb_sampling_period_() << times <= UINT32_MAX) {
        __atomic_store_n(&period_halvings, times, __ATOMIC_RELAXED);
    }
}

void egb_sampling_note_(void)
{
    const uint64_t pace = (uint64_t)PACE_NS * WINDOW_SAMPLES;
    if (__atomic_load_n(&is_steady, __ATOMIC_RELAXED) ||
        __atomic_add_fetch(&samples_taken, 1, __ATOMIC_RELAXED) % WINDOW_SAMPLES != 0) {
        return;
    }
    const uint64_t now   = egb_os_nanoseconds_();
    const uint64_t took  = now - __atomic_exchange_n(&window_began, now, __ATOMIC_RELAXED);
    const uint32_t times = __atomic_load_n(&period_halvings, __ATOMIC_RELAXED);
    if (took < pace) {
        set_halvings(times + 1);
    } else if (took > 4 * pace && times > 0) {
        set_halvings(times - 1);
    }
}

// The distance to the next point counts from the end of a sampled block.
size_t egb_sampler_pass_(egb_sampler* sampler, size_t bytes, size_t count)
{
    const uint64_t whole = (uint64_t)bytes * count;
    const uint32_t times = __atomic_load_n(&period_halvings, __ATOMIC_RELAXED);
    if (sampler->random == 0 || sampler->halvings != times) {
        draw_anew(sampler, times);
    }
    if (sampler->left >= whole) {
        sampler->left -= whole;
        return count;
    }
    const size_t passed = (size_t)(sampler->left / bytes);
    sampler->left       = bytes_to_next(sampler);
    return passed;
}

// 1 / (1 - exp(-x)), without the mathematical library: a series for a small part of x, and then
// 1 - exp(-2 y) = p (2 - p), where p is 1 - exp(-y). The relative error is below 3e-8.
double egb_sampling_scale_(size_t bytes, uint32_t times)
{
    enum { DOUBLINGS = 10 };
    const double x = (double)bytes / (double)(egb_sampling_period_() << times);
    if (x > 40) {
        return 1;
    }
    const double y = x / (1 << DOUBLINGS);
    double       p = y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4)));
    for (int i = 0; i < DOUBLINGS; i++) {
        p *= 2 - p;
    }
    return 1 / p;
}
