// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/plot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "bench/figures/child.h"

namespace torusmp::bench {
namespace {

namespace fs = std::filesystem;

// In the build tree beside this program, or in the installed folder of helper programs.
std::string find_torus_plot() {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& candidate : {here / "torus-plot", here / TORUSMP_HELPERS_FROM_BIN / "torus-plot"})
        if (access(candidate.c_str(), R_OK) == 0) return candidate;
    throw std::runtime_error(fmt::format("cannot draw: torus-plot is missing (expected in {} or {})",
                                         here.string(),
                                         (here / TORUSMP_HELPERS_FROM_BIN).lexically_normal().string()));
}

void run_torus_plot(std::vector<std::string> words) {
    words.insert(words.begin(), {"python3", find_torus_plot()});
    Ended ended = run_program_whole(words);
    if (ended.code == 0) return;
    while (!ended.text.empty() && ended.text.back() == '\n') ended.text.pop_back();
    constexpr std::string_view name = "torus-plot: ";
    const auto at = ended.text.rfind(name);
    throw std::runtime_error(at == std::string::npos ? "torus-plot: " + ended.text
                                                     : ended.text.substr(at + name.size()));
}

std::string map_json(const std::optional<routing::Torus>& torus) {
    if (!torus) return "null";
    std::string periodic;
    for (int d = 0; d < torus->dimensions(); ++d)
        periodic += fmt::format("{}{}", d == 0 ? "" : ",", torus->periodic(d));
    return fmt::format("{{\"extents\":[{}],\"periodic\":[{}]}}", fmt::join(torus->extents(), ","),
                       periodic);
}

std::string job_of(const Drawing& drawing, const std::string& file) {
    return fmt::format("{{\"file\":{},\"subtitle\":{},\"map\":{},\"table\":{}}}",
                       json_quoted(file), json_quoted(drawing.subtitle), map_json(drawing.map),
                       as_json("plot", {}, drawing.table));
}

// A temporary folder, removed by the destructor.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::string pattern = (fs::temp_directory_path() / "torus-bench-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error(fmt::format("cannot make a folder like {}", pattern));
        path_ = pattern;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

void run_jobs(const ScratchFolder& scratch, const std::vector<std::string>& jobs) {
    const fs::path file = scratch.path() / "job.json";
    std::ofstream out(file);
    out << fmt::format("[{}]\n", fmt::join(jobs, ",\n"));
    out.close();
    if (!out) throw std::runtime_error(fmt::format("cannot write {}", file.string()));
    run_torus_plot({file});
}

}  // namespace

void check_can_draw() {
    const ScratchFolder scratch;
    run_jobs(scratch, {});
}

void draw(const Drawing& drawing, const std::string& file) {
    const ScratchFolder scratch;
    run_jobs(scratch, {job_of(drawing, fs::absolute(file))});
}

std::vector<std::string> as_svg(const std::vector<Drawing>& drawings) {
    const ScratchFolder scratch;
    std::vector<std::string> jobs, pictures;
    const auto file = [&](std::size_t i) { return scratch.path() / fmt::format("{}.svg", i); };
    for (std::size_t i = 0; i < drawings.size(); ++i) jobs.push_back(job_of(drawings[i], file(i)));
    run_jobs(scratch, jobs);
    for (std::size_t i = 0; i < drawings.size(); ++i) {
        std::ifstream in(file(i));
        pictures.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return pictures;
}

}  // namespace torusmp::bench
