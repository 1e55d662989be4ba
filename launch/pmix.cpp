// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap over PMIx: Slurm (srun --mpi=pmix), PRRTE, Open MPI's mpirun.
//
// libpmix is loaded at run time, and only if PMIx started this process; if it were linked, every
// rank of torus-run would pay for its initialization. Its types come from pmix.h; a build without
// this header refuses such a start.
#include <fmt/format.h>

#include "launch/implementations.h"

#if __has_include(<pmix.h>)
#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace torusmp::launch {
namespace {

// Versions 3 to 6 of the library share this name and the layout of the types used here.
constexpr const char* library_name = "libpmix.so.2";

const char* environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "?";
}

// The functions used, bound once at connect.
class Library {
  public:
    Library() {
        // Plug-ins of libpmix expect its symbols. It is never closed: its threads may still run.
        void* handle = dlopen(library_name, RTLD_NOW | RTLD_GLOBAL);
        if (!handle)
            throw BootstrapError(fmt::format(
                "this process was started through PMIx, but {} cannot be opened: {}; install it "
                "(Debian: libpmix2) or start the program with torus-run",
                library_name, dlerror()));
        bind(handle, "PMIx_Init", init);
        bind(handle, "PMIx_Finalize", finalize);
        bind(handle, "PMIx_Get", get);
        bind(handle, "PMIx_Put", put);
        bind(handle, "PMIx_Commit", commit);
        bind(handle, "PMIx_Fence", fence);
        bind(handle, "PMIx_Abort", abort);
        bind(handle, "PMIx_Error_string", error_string);
        bind(handle, "PMIx_Value_destruct", value_destruct);
    }

    decltype(&PMIx_Init) init;
    decltype(&PMIx_Finalize) finalize;
    decltype(&PMIx_Get) get;
    decltype(&PMIx_Put) put;
    decltype(&PMIx_Commit) commit;
    decltype(&PMIx_Fence) fence;
    decltype(&PMIx_Abort) abort;
    decltype(&PMIx_Error_string) error_string;
    decltype(&PMIx_Value_destruct) value_destruct;

  private:
    template <class Function>
    static void bind(void* handle, const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(handle, name));
        if (!function)
            throw BootstrapError(
                fmt::format("{} has no function {}: expected PMIx 4 or later", library_name, name));
    }
};

class PmixBootstrap final : public Bootstrap {
  public:
    PmixBootstrap() {
        check(pmix_.init(&self_, nullptr, 0), "PMIx_Init");
        rank_ = int(self_.rank);
        size_ = job_value<int>(PMIX_JOB_SIZE, PMIX_UINT32,
                               [](const pmix_value_t& value) { return int(value.data.uint32); });
        read_local_ranks();
        share_secret();
    }

    std::string_view name() const override { return "pmix"; }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::vector<int>& local_ranks() const override { return local_; }
    std::span<const std::byte> secret() const override { return secret_; }

    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        const std::string key = fmt::format("torusmp.exchange.{}", exchanges_++);
        put(key, mine);
        fence(true);
        std::vector<std::vector<std::byte>> everyone;
        everyone.reserve(std::size_t(size_));
        for (int rank = 0; rank < size_; ++rank)
            everyone.push_back(rank == rank_ ? std::vector<std::byte>(mine.begin(), mine.end())
                                             : get(rank, key));
        return everyone;
    }

    void barrier() override { fence(false); }

    [[noreturn]] void abort(int code, std::string_view message) override {
        const std::string text =
            fmt::format("{} aborted with code {}: {}\n", describe_self(rank_), code, message);
        std::fputs(text.c_str(), stderr);
        std::fflush(nullptr);
        const int status = (code & 0xff) != 0 ? code : 1;
        // Open MPI's mpirun ends the job for a non-zero exit code. If PMIx_Abort is called while
        // another rank waits in a fence, version 4 crashes or hangs. srun needs PMIx_Abort.
        if (!std::getenv("OMPI_COMM_WORLD_SIZE")) pmix_.abort(status, text.c_str(), nullptr, 0);
        _exit(status);
    }

    void finalize() override {
        if (finalized_) return;
        finalized_ = true;
        check(pmix_.finalize(nullptr, 0), "PMIx_Finalize");
    }

  private:
    // A value allocated by PMIx.
    class Value {
      public:
        explicit Value(const Library& pmix) : pmix_(pmix) {}
        Value(const Value&) = delete;
        Value& operator=(const Value&) = delete;
        ~Value() {
            if (!value_) return;
            pmix_.value_destruct(value_);
            std::free(value_);
        }
        pmix_value_t** out() { return &value_; }
        const pmix_value_t* operator->() const { return value_; }
        const pmix_value_t& operator*() const { return *value_; }
        explicit operator bool() const { return value_ != nullptr; }

      private:
        const Library& pmix_;
        pmix_value_t* value_ = nullptr;
    };

    void check(pmix_status_t status, std::string_view call) const {
        if (status == PMIX_SUCCESS) return;
        throw BootstrapError(
            fmt::format("{} failed with {} ({}) in rank {} of PMIx job {}: is the launcher that "
                        "set PMIX_NAMESPACE still running, and did it start this process?",
                        call, pmix_.error_string(status), status, environment("PMIX_RANK"),
                        environment("PMIX_NAMESPACE")));
    }

    pmix_proc_t process(pmix_rank_t rank) const {
        pmix_proc_t process = self_;
        process.rank = rank;
        return process;
    }

    // A fact about the whole job.
    template <class Result>
    Result job_value(const char* key, pmix_data_type_t type,
                     Result (*read)(const pmix_value_t&)) const {
        const pmix_proc_t job = process(PMIX_RANK_WILDCARD);
        Value value(pmix_);
        const std::string call = fmt::format("PMIx_Get({})", key);
        check(pmix_.get(&job, key, nullptr, 0, value.out()), call);
        if (!value || value->type != type)
            throw BootstrapError(fmt::format("{} returned a value of type {}, expected {}", call,
                                             value ? int(value->type) : -1, int(type)));
        return read(*value);
    }

    void read_local_ranks() {
        const auto peers = job_value<std::string>(
            PMIX_LOCAL_PEERS, PMIX_STRING,
            [](const pmix_value_t& value) { return std::string(value.data.string); });
        const char* at = peers.c_str();
        while (*at) {
            char* end = nullptr;
            const long rank = std::strtol(at, &end, 10);
            if (end == at || rank < 0 || rank >= size_ || (*end && *end != ','))
                throw BootstrapError(fmt::format(
                    "PMIx lists the ranks of this host as \"{}\": expected numbers below {}", peers,
                    size_));
            local_.push_back(int(rank));
            at = *end ? end + 1 : end;
        }
        std::sort(local_.begin(), local_.end());
        if (!std::binary_search(local_.begin(), local_.end(), rank_))
            throw BootstrapError(fmt::format(
                "PMIx lists the ranks of this host as \"{}\", without this rank {}", peers, rank_));
    }

    void share_secret() {
        if (rank_ == 0) secret_ = random_secret();
        const auto everyone = exchange(rank_ == 0 ? std::span<const std::byte>(secret_)
                                                  : std::span<const std::byte>());
        if (everyone[0].size() != secret_.size())
            throw BootstrapError(fmt::format("rank 0 shared a secret of {} bytes, expected {}",
                                             everyone[0].size(), secret_.size()));
        std::copy(everyone[0].begin(), everyone[0].end(), secret_.begin());
    }

    // One byte goes first: not every PMIx server stores an empty object.
    void put(const std::string& key, std::span<const std::byte> bytes) const {
        std::vector<std::byte> copy(bytes.size() + 1);
        std::copy(bytes.begin(), bytes.end(), copy.begin() + 1);
        pmix_value_t value{};
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo.bytes = reinterpret_cast<char*>(copy.data());
        value.data.bo.size = copy.size();
        check(pmix_.put(PMIX_GLOBAL, key.c_str(), &value), "PMIx_Put");
        check(pmix_.commit(), "PMIx_Commit");
    }

    std::vector<std::byte> get(int rank, const std::string& key) const {
        const pmix_proc_t peer = process(pmix_rank_t(rank));
        Value value(pmix_);
        check(pmix_.get(&peer, key.c_str(), nullptr, 0, value.out()),
              fmt::format("PMIx_Get({} of rank {})", key, rank));
        if (!value || value->type != PMIX_BYTE_OBJECT || value->data.bo.size < 1)
            throw BootstrapError(
                fmt::format("PMIx_Get({} of rank {}) returned no bytes", key, rank));
        const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
        return {begin + 1, begin + value->data.bo.size};
    }

    void fence(bool collect) const {
        const pmix_proc_t job = process(PMIX_RANK_WILDCARD);
        pmix_info_t info{};
        std::strcpy(info.key, PMIX_COLLECT_DATA);
        info.value.type = PMIX_BOOL;
        info.value.data.flag = collect;
        const pmix_status_t status = pmix_.fence(&job, 1, &info, 1);
        if (status == PMIX_ERR_PARTIAL_SUCCESS || status == PMIX_ERR_LOST_CONNECTION)
            throw BootstrapError(
                fmt::format("{} waited for all ranks, but one of them or the launcher has ended "
                            "(PMIx_Fence: {})",
                            describe_self(rank_), pmix_.error_string(status)));
        check(status, "PMIx_Fence");
    }

    Library pmix_;
    pmix_proc_t self_{};
    int rank_ = 0;
    int size_ = 1;
    int exchanges_ = 0;
    std::vector<int> local_;
    Secret secret_{};
    bool finalized_ = false;
};

}  // namespace

std::unique_ptr<Bootstrap> connect_pmix() {
    auto bootstrap = std::make_unique<PmixBootstrap>();
    setenv(env_connected, fmt::format("{}", getpid()).c_str(), 1);
    return bootstrap;
}

}  // namespace torusmp::launch

#else

namespace torusmp::launch {

std::unique_ptr<Bootstrap> connect_pmix() {
    throw BootstrapError(
        "this process was started through PMIx, but torusmp was built without it: install the "
        "header "
        "(Debian: libpmix-dev) and build again, or start the program with torus-run");
}

}  // namespace torusmp::launch

#endif
