// SPDX-License-Identifier: BSD-3-Clause
// torus-top: shows a running job on a terminal, as text, or in a browser.
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "config/options.h"
#include "programs/torus_top/feed.h"
#include "programs/torus_top/forms.h"
#include "programs/torus_top/options.h"
#include "programs/torus_top/serve.h"
#include "programs/torus_top/terminal.h"

namespace {

using namespace torusmp;
using torus_top::Options;
using Clock = std::chrono::steady_clock;

// Time limit for ranks that have not joined the job and for slow hosts.
constexpr std::chrono::seconds sample_timeout{10};

int terminal_width() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 200;
}

std::string text_of(const Options& options, const torus_top::JobView& view) {
    if (options.form == Options::Form::json) return torus_top::to_json(view);
    if (options.form == Options::Form::csv)
        return options.page == torus_top::Page::links ? torus_top::links_to_csv(view)
                                                      : torus_top::ranks_to_csv(view);
    torus_top::Choice choice;
    choice.page = options.page;
    return torus_top::plain_text(torus_top::draw(view, choice, terminal_width(), 0));
}

int write_once(const Options& options, torus_top::Feed& feed, torus_top::JobView& view,
               torus_top::Recorder* recorder) {
    const auto end = Clock::now() + std::max<Clock::duration>(sample_timeout, 3 * options.interval);
    while (!feed.over() && !view.complete() && Clock::now() < end)
        if (const auto sample = feed.next(options.interval)) {
            if (recorder != nullptr) recorder->add(*sample);
            view.apply(*sample);
        }
    // A recording is shown in its final state.
    while (!options.replay.empty() && !feed.over())
        if (const auto sample = feed.next(sample_timeout)) view.apply(*sample);
    if (view.samples() == 0) throw std::runtime_error("the job ended before its first sample");
    view.exit_code = feed.exit_code();
    const std::string text = text_of(options, view);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::runtime_error("cannot write to standard output");
    return config::exit_ok;
}

// Without a terminal the whole job is recorded.
int record_to_the_end(torus_top::Feed& feed, torus_top::Recorder& recorder) {
    while (!feed.over())
        if (const auto sample = feed.next(sample_timeout)) recorder.add(*sample);
    return config::exit_ok;
}

int run(int argc, const char* const* argv) {
    const Options options = torus_top::parse_options(argc, argv);
    if (options.help) {
        fmt::print("{}", torus_top::help_text());
        return config::exit_ok;
    }
    if (options.version) {
        config::print_version("torus-top");
        return config::exit_ok;
    }
    ::signal(SIGPIPE, SIG_IGN);
    if (options.form == Options::Form::list) {
        fmt::print("{}", torus_top::list_jobs());
        return config::exit_ok;
    }
    const bool text = options.form == Options::Form::once || options.form == Options::Form::json ||
                      options.form == Options::Form::csv;
    const auto feed = !options.replay.empty()
                          ? torus_top::replay(options.replay, text ? 0 : options.speed)
                          : torus_top::watch_job(options.job ? *options.job : torus_top::only_job(),
                                                 options.interval);
    std::optional<torus_top::Recorder> recorder;
    if (!options.record.empty()) recorder.emplace(options.record, feed->job());
    torus_top::Recorder* const record = recorder ? &*recorder : nullptr;
    if (options.form == Options::Form::screen && record != nullptr && isatty(STDOUT_FILENO) == 0)
        return record_to_the_end(*feed, *record);
    torus_top::JobView view(feed->job());
    if (text) return write_once(options, *feed, view, record);
    if (options.form == Options::Form::serve)
        return torus_top::serve(
            *feed, view,
            {options.address, options.port, options.open_to_others, options.token_file}, record);
    torus_top::Choice choice;
    choice.page = options.page;
    return torus_top::show_on_terminal(*feed, view, choice, record);
}

}  // namespace

int main(int argc, char** argv) {
    return config::run_program("torus-top", [&] { return run(argc, argv); });
}
