// SPDX-License-Identifier: BSD-3-Clause
// QMP_printf and related functions, verbosity, time and version.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "qmp/library.h"

namespace {

using torusmp::qmp::library;

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// One write for each line, so that lines of several threads do not mix.
int print(FILE* stream, const char* tag, const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length < 0) return length;
    std::string text(std::size_t(length) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.back() = '\n';

    const auto& lib = library();
    static const std::string host = host_name();
    const std::string line = "QMP m" + std::to_string(lib.machine_node) + ",n" +
                             std::to_string(lib.machine_size) + "@" + host + tag + ": " + text;
    std::fwrite(line.data(), 1, line.size(), stream);
    return length;
}

}  // namespace

extern "C" {

int QMP_verbose(int level) {
    return library().verbose.exchange(level);
}

int QMP_profcontrol(int level) {
    return torusmp::qmp::hot.profile_level.exchange(level);
}

int QMP_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = print(stdout, "", format, arguments);
    va_end(arguments);
    return length;
}

int QMP_fprintf(FILE* stream, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = print(stream, "", format, arguments);
    va_end(arguments);
    return length;
}

int QMP_info(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = print(stdout, " info", format, arguments);
    va_end(arguments);
    return length;
}

int QMP_error(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = print(stderr, " error", format, arguments);
    va_end(arguments);
    return length;
}

double QMP_time(void) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void QMP_reset_total_qmp_time(void) {
    library().profile_seconds = 0.0;
}

double QMP_get_total_qmp_time(void) {
    return library().profile_seconds;
}

const char* QMP_version_str(void) {
    return TORUSMP_QMP_VERSION;
}

int QMP_version_int(void) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    std::sscanf(TORUSMP_QMP_VERSION, "%d.%d.%d", &major, &minor, &patch);
    return (major * 1000 + minor) * 1000 + patch;
}
}
