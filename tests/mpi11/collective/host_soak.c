/* SPDX-License-Identifier: BSD-3-Clause */
/* Random collectives on random groups of the ranks of one host, of 2 to all of them: in each round
 * the ranks are divided into random teams. Each team creates a communicator and makes calls drawn
 * from the seed, one after the other or several at a time. All answers are checked. With KILLS a
 * rank sometimes ends itself in the middle of a round, until two are left. The calls of its team
 * then succeed or end with MPI_ERR_PROC_FAILED, and the calls of other teams succeed.
 *
 *   torus-run -np 64 --keep-going host_soak SEED ROUNDS [KILLS]
 *
 * KILLS: the number of ranks that die, at even distances. The last line of a run is "host_soak: all
 * was right", from one rank that is left. A failure names the seed, the round and the call. */
#define _GNU_SOURCE
#include <mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { most_ranks = 256, most_at_once = 4, calls_a_round = 8 };

typedef struct {
    uint64_t state;
} Random;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static uint64_t draw(Random* random) {
    return mix(random->state += 0x9e3779b97f4a7c15u);
}
static int below(Random* random, int limit) {
    return (int)(draw(random) % (uint64_t)limit);
}

static uint64_t seed;
static int my_rank, round_now;

/* One call of a team. */
typedef enum {
    barrier,
    broadcast,
    reduce,
    allreduce,
    scan,
    exscan,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce_scatter,
    allgatherv,
    alltoallv,
    kinds
} Kind;

typedef struct {
    Kind kind;
    int number, root, count; /* elements of a block */
    int blocking;
    unsigned *in, *out;
    int *in_counts, *in_at, *out_counts, *out_at; /* where blocks differ */
    MPI_Request request;
} Call;

static int me, size; /* in the team */

static void fail_at(const Call* call, const char* what) {
    fprintf(stderr,
            "host_soak: seed %llu, round %d, rank %d (%d of %d): call %d of kind %d, %d elements, "
            "root %d%s: %s\n",
            (unsigned long long)seed, round_now, my_rank, me, size, call->number, (int)call->kind,
            call->count, call->root, call->blocking ? ", blocking" : "", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Element i of what `from` has for `to` in that call. */
static unsigned value(const Call* call, int from, int to, int i) {
    return (unsigned)mix(seed ^
                         mix((uint64_t)round_now << 40 ^ (uint64_t)call->number << 32 ^
                             (uint64_t)from << 20 ^ (uint64_t)to << 12) ^
                         (uint64_t)i);
}
/* Elements of that block, where blocks differ. */
static int uneven(const Call* call, int from, int to) {
    return (int)(value(call, from, to, -1) % (unsigned)(call->count + 1));
}

/* Memory of malloc(), which other ranks may reach if it is large, or, one time in four, memory that
 * is this rank's alone. */
enum { front = 64 };
static uint64_t rooms;

static void* room(size_t elements) {
    const size_t bytes = front + (elements + 1) * sizeof(unsigned);
    const int own = mix(++rooms ^ (uint64_t)my_rank << 32) % 4 == 0;
    char* memory =
        own ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : calloc(bytes, 1);
    if (memory == NULL || memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
    *(size_t*)memory = own ? bytes : 0;
    return memory + front;
}
/* What a late reader would find is not what it expects. */
static void leave_room(void* memory, size_t elements) {
    char* const begin = (char*)memory - front;
    const size_t mapped = *(size_t*)begin;
    memset(memory, 0xa5, elements * sizeof(unsigned));
    if (mapped != 0)
        munmap(begin, mapped);
    else
        free(begin);
}

static void prepare(Call* call, int number, Random* random) {
    int to, i;
    /* The longest do not fit the shared memory in which ranks of a host leave contents. */
    const int largest = (int[]){2, 16, 300, 1100, 5000, 300000}[below(random, 6)];
    memset(call, 0, sizeof *call);
    call->number = number;
    call->kind = (Kind)below(random, kinds);
    call->root = below(random, size);
    call->count = below(random, largest + 1);
    if (size > 4) call->count %= 5001;
    if (size > 16 && call->count > 1100) call->count /= 4;
    call->blocking = below(random, 2);
    call->request = MPI_REQUEST_NULL;
    call->in = room((size_t)call->count * (size_t)size);
    call->out = room((size_t)call->count * (size_t)size);
    call->in_counts = room(4 * (size_t)size);
    call->in_at = call->in_counts + size;
    call->out_counts = call->in_at + size;
    call->out_at = call->out_counts + size;
    for (to = 0; to < size; to++) {
        const int other = call->kind == allgatherv ? 0 : to;
        const int of_mine = call->kind == allgatherv ? 0 : me;
        call->in_counts[to] = uneven(call, me, other);
        call->out_counts[to] = uneven(call, to, of_mine);
        call->in_at[to] = call->out_at[to] = to * call->count;
        for (i = 0; i < call->count; i++)
            call->in[to * call->count + i] = value(call, me, other, i);
    }
}

static void end(Call* call) {
    leave_room(call->in, (size_t)call->count * (size_t)size);
    leave_room(call->out, (size_t)call->count * (size_t)size);
    leave_room(call->in_counts, 4 * (size_t)size);
}

#define DO(Name, name, ...)                         \
    (call->blocking ? MPI_##Name(__VA_ARGS__, team) \
                    : MPI_I##name(__VA_ARGS__, team, &call->request))

static int begin(Call* call, MPI_Comm team) {
    const int n = call->count;
    const MPI_Datatype type = MPI_UNSIGNED;
    switch (call->kind) {
        case barrier:
            return call->blocking ? MPI_Barrier(team) : MPI_Ibarrier(team, &call->request);
        case broadcast:
            if (me == call->root) memcpy(call->out, call->in, (size_t)n * sizeof *call->in);
            return DO(Bcast, bcast, call->out, n, type, call->root);
        case reduce:
            if (me == call->root) memcpy(call->out, call->in, (size_t)n * sizeof *call->in);
            return DO(Reduce, reduce,
                      me == call->root && call->number % 2 == 0 ? MPI_IN_PLACE : call->in,
                      call->out, n, type, MPI_SUM, call->root);
        case allreduce:
            if (call->number % 2 == 0) memcpy(call->out, call->in, (size_t)n * sizeof *call->in);
            return DO(Allreduce, allreduce, call->number % 2 == 0 ? MPI_IN_PLACE : call->in,
                      call->out, n, type, MPI_SUM);
        case scan:
            return DO(Scan, scan, call->in, call->out, n, type, MPI_SUM);
        case exscan:
            return DO(Exscan, exscan, call->in, call->out, n, type, MPI_SUM);
        case gather:
            return DO(Gather, gather, call->in, n, type, call->out, n, type, call->root);
        case scatter:
            return DO(Scatter, scatter, call->in, n, type, call->out, n, type, call->root);
        case allgather:
            return DO(Allgather, allgather, call->in, n, type, call->out, n, type);
        case alltoall:
            return DO(Alltoall, alltoall, call->in, n, type, call->out, n, type);
        case reduce_scatter:
            return DO(Reduce_scatter_block, reduce_scatter_block, call->in, call->out, n, type,
                      MPI_SUM);
        case allgatherv:
            return DO(Allgatherv, allgatherv, call->in, call->in_counts[0], type, call->out,
                      call->out_counts, call->out_at, type);
        case alltoallv:
            return DO(Alltoallv, alltoallv, call->in, call->in_counts, call->in_at, type, call->out,
                      call->out_counts, call->out_at, type);
        case kinds:
            break;
    }
    return MPI_ERR_OTHER;
}

/* The value that place i of the block from `block` must have. */
static unsigned expected(const Call* call, int block, int i) {
    unsigned sum = 0;
    int from;
    switch (call->kind) {
        case broadcast:
            return value(call, call->root, 0, i);
        case reduce:
        case allreduce:
            for (from = 0; from < size; from++) sum += value(call, from, 0, i);
            return sum;
        case scan:
        case exscan:
            for (from = 0; from < me + (call->kind == scan); from++) sum += value(call, from, 0, i);
            return sum;
        case reduce_scatter:
            for (from = 0; from < size; from++) sum += value(call, from, me, i);
            return sum;
        case scatter:
            return value(call, call->root, me, i);
        case gather:
        case allgather:
        case allgatherv:
            return value(call, block, 0, i);
        default:
            return value(call, block, me, i);
    }
}

static void check(const Call* call) {
    int block, i;
    int blocks =
        call->kind >= gather && call->kind != scatter && call->kind != reduce_scatter ? size : 1;
    const int here = me == call->root;
    if (call->kind == barrier || ((call->kind == reduce || call->kind == gather) && !here) ||
        (call->kind == exscan && me == 0))
        return;
    for (block = 0; block < blocks; block++) {
        const int count = call->kind >= allgatherv ? call->out_counts[block] : call->count;
        for (i = 0; i < count; i++)
            if (call->out[block * call->count + i] != expected(call, block, i))
                fail_at(call, "a wrong answer");
    }
}

/* 1: success; 0: a member has died, which only a team with a victim may report. */
static int judge(const Call* call, int code, int may_fail) {
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS) {
        check(call);
        return 1;
    }
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_PROC_FAILED || !may_fail) {
        char words[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, words, &length);
        fail_at(call, words);
    }
    return 0;
}

/* victim: in the team, or -1. */
static void work(MPI_Comm team, int victim, Random* random) {
    const int fatal = below(random, calls_a_round), after = below(random, 2);
    int number = 0, well = 1;
    while (number < calls_a_round && well) {
        Call calls[most_at_once];
        int codes[most_at_once];
        const int together = 1 + below(random, most_at_once);
        int i;
        for (i = 0; i < together; i++) {
            prepare(&calls[i], number + i, random);
            if (victim == me && !after && number + i >= fatal) raise(SIGKILL);
            codes[i] = begin(&calls[i], team);
            if (victim == me && number + i >= fatal) raise(SIGKILL);
        }
        for (i = 0; i < together; i++) {
            if (codes[i] == MPI_SUCCESS) codes[i] = MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
            well &= judge(&calls[i], codes[i], victim >= 0);
            end(&calls[i]);
        }
        number += together;
    }
    if (victim == me) raise(SIGKILL);
}

/* A rank that died while others are in calls of an earlier round would end those, too. */
static void wait_for_all(int victim, const int* alive, int left) {
    int i;
    for (i = 0; i < left; i++)
        if (my_rank == victim && alive[i] != victim)
            MPI_Recv(NULL, 0, MPI_INT, alive[i], round_now, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (my_rank != victim) MPI_Send(NULL, 0, MPI_INT, victim, round_now, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    int alive[most_ranks], left, rounds, kills, i;
    MPI_Group world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &left);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (argc < 3 || left > most_ranks) {
        fprintf(stderr, "usage: host_soak SEED ROUNDS [KILLS], on at most %d ranks\n", most_ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seed = strtoull(argv[1], NULL, 10);
    rounds = atoi(argv[2]);
    kills = argc > 3 ? atoi(argv[3]) : 0;
    for (i = 0; i < left; i++) alive[i] = i;
    for (round_now = 1; round_now <= rounds && left > 1; round_now++) {
        Random random = {mix(seed) ^ mix((uint64_t)round_now)};
        const int dies = kills > 0 && round_now % (rounds / (kills + 1) + 1) == 0 && left > 2;
        const int victim = dies ? alive[below(&random, left)] : -1;
        int begins, kept = 0;
        for (i = left - 1; i > 0; i--) { /* in any order */
            const int other = below(&random, i + 1), rank = alive[i];
            alive[i] = alive[other];
            alive[other] = rank;
        }
        if (victim >= 0) wait_for_all(victim, alive, left);
        for (begins = 0; begins < left;) {
            const int most = left - begins;
            const int members = most <= 3 ? most : 2 + below(&random, most - 1);
            int mine = 0, has_victim = -1;
            for (i = 0; i < members; i++) {
                mine |= alive[begins + i] == my_rank;
                if (alive[begins + i] == victim) has_victim = i;
            }
            if (mine && members > 1) {
                Random of_team = {mix(seed ^ (uint64_t)round_now << 20 ^ (uint64_t)begins)};
                MPI_Group group;
                MPI_Comm team;
                MPI_Group_incl(world, members, &alive[begins], &group);
                if (MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &team) != MPI_SUCCESS) {
                    fprintf(stderr, "host_soak: seed %llu, round %d, rank %d: no communicator\n",
                            (unsigned long long)seed, round_now, my_rank);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
                MPI_Group_free(&group);
                MPI_Comm_set_errhandler(team, MPI_ERRORS_RETURN);
                MPI_Comm_rank(team, &me);
                MPI_Comm_size(team, &size);
                work(team, has_victim, &of_team);
                MPI_Comm_free(&team);
            }
            if (members == 1 && has_victim == 0 && mine) raise(SIGKILL);
            begins += members;
        }
        for (i = 0; i < left; i++)
            if (alive[i] != victim) alive[kept++] = alive[i];
        left = kept;
    }
    MPI_Group_free(&world);
    /* Whoever has the lowest number of those that are left. */
    for (i = 1; i < left; i++)
        if (alive[i] < alive[0]) alive[0] = alive[i];
    if (my_rank == alive[0]) printf("host_soak: all was right\n");
    MPI_Finalize();
    return 0;
}
