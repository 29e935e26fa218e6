// SPDX-License-Identifier: MIT
#include "top/screen.hpp"

#include "text/failure.hpp"
#include "text/fold.hpp"
#include "text/text.hpp"
#include "top/shared_view.hpp"
#include "top/view.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#if defined(EGGBOX_HAS_CURSES)
  #include <curses.h>

namespace tool
{
namespace
{

constexpr int first_row = 3;
constexpr int ctrl_c    = 3;
constexpr int ctrl_z    = 26;

// No key came: the time is over, or the terminal is gone, which need not be told by a signal.
bool is_terminal_there()
{
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) <= 0 || (input.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

// In UTF-8 the bytes behind the first one of a character begin with the bits 10.
void drop_last_character(std::string& text)
{
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) {
        text.pop_back();
    }
    if (!text.empty()) {
        text.pop_back();
    }
}

// The last of the signals that came; 0: none.
volatile std::sig_atomic_t ended_by = 0;

void note_end(int number)
{
    ended_by = number;
}

// Signals that end the program from outside end the loop instead. ncurses would end the program
// with a status of its own; it leaves a signal alone that has a handler.
class end_signals
{
  public:
    end_signals()
    {
        struct sigaction note = {};
        note.sa_handler       = note_end;  // without SA_RESTART: a key is not waited for any more
        for (std::size_t i = 0; i < numbers.size(); i++) {
            sigaction(numbers[i], nullptr, &before_[i]);
            if (before_[i].sa_handler != SIG_IGN) {  // as under nohup
                sigaction(numbers[i], &note, nullptr);
            }
        }
    }

    // The terminal is restored by now: the signal is raised again, with its former handler.
    ~end_signals()
    {
        for (std::size_t i = 0; i < numbers.size(); i++) {
            sigaction(numbers[i], &before_[i], nullptr);
        }
        if (ended_by != 0) {
            std::raise(ended_by);
        }
    }

    end_signals(const end_signals&)            = delete;
    end_signals& operator=(const end_signals&) = delete;

  private:
    static constexpr std::array<int, 4> numbers = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    std::array<struct sigaction, numbers.size()> before_ = {};
};

// The terminal is as before when this ends.
class terminal
{
  public:
    terminal()
    {
        std::setlocale(LC_ALL, "");
        if (newterm(nullptr, stdout, stdin) == nullptr) {
            refuse();
        }
        if (tigetstr("cup") == nullptr) {  // TERM=dumb: lines would be written over each other
            endwin();
            refuse();
        }
        raw();
        noecho();
        keypad(stdscr, TRUE);
        set_escdelay(50);
        curs_set(0);
    }

    ~terminal()
    {
        endwin();
    }

    terminal(const terminal&)            = delete;
    terminal& operator=(const terminal&) = delete;

  private:
    [[noreturn]] static void refuse()
    {
        throw failure("this terminal cannot be used: look at TERM, or use --once");
    }
};

class screen
{
  public:
    explicit screen(std::string wanted) : wanted_(std::move(wanted)) {}

    void show()
    {
        look();
        for (bool goes_on = true; goes_on;) {
            draw();
            timeout(std::max(0, milliseconds_left()));
            const int key = getch();
            goes_on       = ended_by != 0   ? false
                            : key == ERR    ? is_terminal_there()
                            : key == ctrl_c ? false
                            : key == ctrl_z ? stop()
                            : is_typing_    ? type(key)
                                            : act(key);
            if (milliseconds_left() <= 0) {
                look();
            }
        }
    }

  private:
    using clock = std::chrono::steady_clock;

    // The handler of ncurses gives the terminal to the shell until the program goes on.
    static bool stop()
    {
        std::raise(SIGTSTP);
        return true;
    }

    int milliseconds_left() const
    {
        const auto left = std::chrono::milliseconds(1000) - (clock::now() - looked_);
        return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()
        );
    }

    void look()
    {
        looked_ = clock::now();
        if (is_paused_) {
            return;
        }
        const double at_s = std::chrono::duration<double>(looked_.time_since_epoch()).count();
        shared_.add(all_pools(), at_s);
        found_  = find_recorded(wanted_);
        before_ = std::move(now_);
        now_    = requests_in(found_, at_s);
    }

    // ---- output ---------------------------------------------------------------------------------

    void put(int row, const std::string& text, attr_t how = A_NORMAL) const
    {
        if (row >= 0 && row < LINES) {
            move(row, 0);
            attr_set(how, 0, nullptr);
            addstr(cut_to(text, static_cast<std::size_t>(COLS)).c_str());
            attr_set(A_NORMAL, 0, nullptr);
        }
    }

    std::string last_line() const
    {
        if (is_typing_) {
            return "name contains: " + shown(shown_.filter) + "_";
        }
        const std::vector<std::string> keys = {
            "q quit",
            shown_.is_shared ? (is_of_one() ? "Esc all pools" : "Enter who has it open")
            : is_of_one()    ? "Esc all processes"
                             : "Enter pools of the process",
            std::string("s sort: ") + order_name(shown_.by),
            "/ filter" + (shown_.filter.empty() ? "" : ": " + shown(shown_.filter)),
            is_paused_ ? "p go on" : "p pause",
            shown_.is_shared ? "m processes" : "m shared pools",
        };
        std::string out;
        for (const std::string& each : keys) {  // no half of a word
            const std::string longer = out + (out.empty() ? "" : "   ") + each;
            if (columns(longer) > static_cast<std::size_t>(COLS)) {
                break;
            }
            out = longer;
        }
        return out;
    }

    // The selected line stays the selected one, wherever it is now.
    void follow(view next)
    {
        const auto at = static_cast<std::size_t>(selected_);
        if (!is_moved_ && at < current_.rows.size()) {
            const row_key key = current_.rows[at].key;
            const auto    found =
                std::find_if(next.rows.begin(), next.rows.end(), [&](const view_row& each) {
                    return each.key == key;
                });
            selected_ =
                found == next.rows.end() ? selected_ : static_cast<int>(found - next.rows.begin());
        }
        is_moved_ = false;
        current_  = std::move(next);
    }

    void draw()
    {
        shown_.width = static_cast<std::size_t>(COLS);
        follow(
            shown_.is_shared ? shared_view_of(shared_, shown_)
                             : view_of(found_, before_, now_, shown_)
        );
        const int places = std::max(1, LINES - first_row - 1);
        const int rows   = static_cast<int>(current_.rows.size());
        selected_        = std::clamp(selected_, 0, std::max(0, rows - 1));
        top_             = std::clamp(top_, std::max(0, selected_ - places + 1), selected_);
        erase();
        put(0, current_.title + (is_paused_ ? "   PAUSED" : ""), A_BOLD);
        put(first_row - 1, current_.head, A_UNDERLINE);
        for (int i = 0; i < std::min(places, rows - top_); i++) {
            const bool is_selected = top_ + i == selected_;
            put(first_row + i,
                current_.rows[static_cast<std::size_t>(top_ + i)].text,
                is_selected ? A_REVERSE : A_NORMAL);
        }
        if (rows == 0) {
            put(first_row, "none");
        }
        put(LINES - 1, last_line(), A_DIM);
        refresh();
    }

    // ---- input ----------------------------------------------------------------------------------

    // False: the end.
    bool type(int key)
    {
        if (key == '\n' || key == KEY_ENTER || key == 27) {
            is_typing_    = false;
            shown_.filter = key == 27 ? "" : shown_.filter;
        } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && !shown_.filter.empty()) {
            drop_last_character(shown_.filter);
        } else if ((key >= ' ' && key < 127) || (key > 127 && key <= 0xff)) {
            shown_.filter += static_cast<char>(key);  // a byte of a character, beyond ASCII
        }
        return true;
    }

    bool act(int key)
    {
        is_moved_      = key != ERR && key != 's' && key != 'p';
        const int page = std::max(1, LINES - first_row - 2);
        switch (key) {
            case 'q': return false;
            case 's': shown_.by = order_after(shown_.by); break;
            case 'p': is_paused_ = !is_paused_; break;
            case '/': is_typing_ = true; break;
            case 'm': show_other(); break;
            case KEY_UP:
            case 'k': selected_--; break;
            case KEY_DOWN:
            case 'j': selected_++; break;
            case KEY_PPAGE: selected_ -= page; break;
            case KEY_NPAGE: selected_ += page; break;
            case KEY_HOME: selected_ = 0; break;
            case KEY_END: selected_ = static_cast<int>(current_.rows.size()); break;
            case KEY_ENTER:
            case '\n': show_pools(); break;
            case KEY_BACKSPACE:
            case KEY_LEFT:
            case 127:
            case 27: show_processes(); break;
            default: break;
        }
        return true;
    }

    // Processes, or pools that they share.
    void show_other()
    {
        shown_.is_shared = !shown_.is_shared;
        shown_.of        = {};
        shown_.filter.clear();
        selected_ = 0;
    }

    bool is_of_one() const
    {
        return shown_.of.pid != 0 || !shown_.of.shared.empty();
    }

    void show_pools()
    {
        if (!is_of_one() && !current_.rows.empty()) {
            shown_.of = current_.rows[static_cast<std::size_t>(selected_)].key;
            shown_.filter.clear();
            selected_ = 0;
        }
    }

    void show_processes()
    {
        if (is_of_one()) {
            shown_.of = {};
            shown_.filter.clear();
            selected_ = 0;
        }
    }

    std::string        wanted_;
    recorded_processes found_;
    shared_looks       shared_;
    counted_requests   before_;
    counted_requests   now_;
    clock::time_point  looked_;
    view               current_;
    view_options       shown_;
    int                selected_  = 0;      // a row of the view
    int                top_       = 0;      // the first row that is drawn
    bool               is_moved_  = false;  // the selection, by a key
    bool               is_paused_ = false;
    bool               is_typing_ = false;
};

}  // namespace

void show_screen(const std::string& wanted)
{
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) {
        throw failure("stdin and stdout are no terminal; use --once");
    }
    const end_signals signals;
    const terminal    whole;
    screen{wanted}.show();
}

}  // namespace tool

#else

namespace tool
{

void show_screen(const std::string&)
{
    throw failure("eggbox was built without ncurses; use --once");
}

}  // namespace tool

#endif
