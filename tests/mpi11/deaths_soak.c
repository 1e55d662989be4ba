/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are killed at random moments, in any call, in a job that goes on without them
 * (--keep-going). The others revoke their communicator, shrink it and go on, until all victims are
 * dead. Messages and results must be right where the calls succeed, agreements equal on all, and no
 * call may hang.
 *
 *   deaths_soak SEED [MOST [FILE]]
 *
 * The seed determines the victims, the times of their deaths and the calls. At most MOST processes
 * die; over links fewer than a node has neighbours, so that the others reach each other. Files are
 * used if a name is given. */
#include <mpi-ext.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "cases.h"

enum { large = 30000, most = 30 }; /* most: processes with a bit each in the flags of agree() */

static MPI_Comm living; /* all processes that live */
static int mine, all;   /* rank and size in it */
static int to_die[most], left;
static const char* path; /* of a file; NULL: none */

static unsigned long next(unsigned long* state) {
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

/* All processes draw the same victims; each victim is killed at a time of its own. */
static void choose(unsigned long seed, int most_kills) {
    unsigned long state = seed;
    int kills = 1 + (int)(next(&state) % (unsigned long)most_kills);
    left = ranks - kills;
    while (kills > 0) {
        const int victim = (int)(next(&state) % (unsigned long)ranks);
        if (to_die[victim]) continue;
        to_die[victim] = 1;
        kills--;
    }
    if (to_die[me]) {
        struct itimerval timer = {{0, 0}, {0, 0}};
        state += (unsigned long)me * 77;
        next(&state);
        timer.it_value.tv_usec = 1 + (long)(next(&state) % 60000);
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
}

static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

static int is_of_a_death(int code) {
    return class_of(code) == MPI_ERR_PROC_FAILED || class_of(code) == MPI_ERR_REVOKED ||
           class_of(code) == MPI_ERR_PROC_FAILED_PENDING;
}

static int ring(int count, int tag) {
    static int out[large], in[large];
    const int next = (mine + 1) % all, previous = (mine + all - 1) % all;
    int i, code;
    for (i = 0; i < count; i++) out[i] = mine * 1000 + tag + i;
    code = MPI_Sendrecv(out, count, MPI_INT, next, tag, in, count, MPI_INT, previous, tag, living,
                        MPI_STATUS_IGNORE);
    for (i = 0; code == MPI_SUCCESS && i < count; i++) CHECK(in[i] == previous * 1000 + tag + i);
    return code;
}

static int sum(int count) {
    static long data[large];
    int i, code;
    for (i = 0; i < count; i++) data[i] = mine + i;
    code = MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_LONG, MPI_SUM, living);
    if (code == MPI_SUCCESS)
        CHECK(data[count - 1] == (long)all * (all - 1) / 2 + (long)all * (count - 1));
    return code;
}

/* Each process sends to the first, which takes the messages in any order. */
static int gather(int tag) {
    int i, value = mine, code = MPI_SUCCESS;
    MPI_Request request;
    if (mine != 0) return MPI_Send(&value, 1, MPI_INT, 0, tag, living);
    for (i = 1; i < all && code == MPI_SUCCESS; i++) {
        MPI_Status status;
        code = MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, living, &request);
        if (code != MPI_SUCCESS) break;
        code = MPI_Wait(&request, &status);
        if (class_of(code) == MPI_ERR_PROC_FAILED_PENDING) {
            CHECK(request != MPI_REQUEST_NULL);
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (code == MPI_SUCCESS) {
            CHECK(value == status.MPI_SOURCE);
        }
    }
    return code;
}

static int duplicate(void) {
    MPI_Comm copy;
    const int code = MPI_Comm_dup(living, &copy);
    if (code == MPI_SUCCESS) MPI_Comm_free(&copy);
    return code;
}

/* Processes add to a counter of each other, and put blocks of `count` numbers into the next one. */
static int epochs(MPI_Win win, long* words, int count, unsigned long what) {
    static long out[large], one = 1, before;
    const int next = (mine + 1) % all, previous = (mine + all - 1) % all;
    MPI_Group world, ahead, behind;
    int i, code;
    for (i = 0; i < count; i++) out[i] = mine + i;
    code = MPI_Win_lock_all(0, win);
    for (i = 0; i < all && code == MPI_SUCCESS; i++)
        code = MPI_Fetch_and_op(&one, &before, MPI_LONG, (mine + i) % all, 0, MPI_SUM, win);
    if (code == MPI_SUCCESS) code = MPI_Win_unlock_all(win);
    if (code == MPI_SUCCESS) code = MPI_Win_fence(0, win);
    if (code != MPI_SUCCESS) return code;
    CHECK(words[0] == all);
    if (what % 3 == 0) {
        code = MPI_Put(out, count, MPI_LONG, next, 1, count, MPI_LONG, win);
        if (code == MPI_SUCCESS) code = MPI_Win_fence(0, win);
    } else if (what % 3 == 1) {
        code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        if (code == MPI_SUCCESS) code = MPI_Put(out, count, MPI_LONG, next, 1, count, MPI_LONG, win);
        if (code == MPI_SUCCESS) code = MPI_Win_unlock(next, win);
        if (code == MPI_SUCCESS) code = MPI_Win_fence(0, win);
    } else {
        CHECK(MPI_Win_get_group(win, &world) == MPI_SUCCESS);
        MPI_Group_incl(world, 1, &next, &ahead);
        MPI_Group_incl(world, 1, &previous, &behind);
        code = MPI_Win_post(behind, 0, win);
        if (code == MPI_SUCCESS) code = MPI_Win_start(ahead, 0, win);
        if (code == MPI_SUCCESS) code = MPI_Put(out, count, MPI_LONG, next, 1, count, MPI_LONG, win);
        if (code == MPI_SUCCESS) code = MPI_Win_complete(win);
        if (code == MPI_SUCCESS) code = MPI_Win_wait(win);
        MPI_Group_free(&ahead);
        MPI_Group_free(&behind);
        MPI_Group_free(&world);
    }
    for (i = 0; code == MPI_SUCCESS && i < count; i++) CHECK(words[1 + i] == previous + i);
    return code;
}

static int window(unsigned long what) {
    static long own[large + 1];
    long* words = own;
    const int count = what % 2 == 0 ? 3 : large;
    const MPI_Aint bytes = (MPI_Aint)((size_t)(count + 1) * sizeof(long));
    MPI_Win win;
    int code;
    memset(own, 0, sizeof own);
    if (what / 2 % 2 == 0)
        code = MPI_Win_create(own, bytes, sizeof(long), MPI_INFO_NULL, living, &win);
    else
        code = MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, living, &words, &win);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (what / 2 % 2 != 0) memset(words, 0, (size_t)bytes);
    code = MPI_Win_fence(0, win);
    if (code == MPI_SUCCESS) code = epochs(win, words, count, what / 4);
    if (code != MPI_SUCCESS) CHECK(MPI_Win_revoke(win) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    return code;
}

/* Each process writes a block of a file and reads that of the next one. */
static int file(unsigned long what) {
    static int out[large], in[large];
    const int count = what % 2 == 0 ? 3 : large, block = count * (int)sizeof(int);
    const int next = (mine + 1) % all;
    MPI_File handle;
    int i, code;
    code = MPI_File_open(living, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
    if (class_of(code) == MPI_ERR_BAD_FILE) return MPI_SUCCESS; /* its host is dead */
    if (code != MPI_SUCCESS) return code;
    for (i = 0; i < count; i++) out[i] = mine + i;
    if (what / 2 % 3 == 0) {
        code = MPI_File_write_at_all(handle, (MPI_Offset)mine * block, out, count, MPI_INT, MPI_STATUS_IGNORE);
    } else if (what / 2 % 3 == 1) {
        code = MPI_File_write_at(handle, (MPI_Offset)mine * block, out, count, MPI_INT, MPI_STATUS_IGNORE);
    } else {
        code = MPI_File_write_ordered(handle, out, count, MPI_INT, MPI_STATUS_IGNORE);
    }
    if (code == MPI_SUCCESS) code = MPI_File_sync(handle);
    if (code == MPI_SUCCESS)
        code = MPI_File_read_at(handle, (MPI_Offset)next * block, in, count, MPI_INT, MPI_STATUS_IGNORE);
    for (i = 0; code == MPI_SUCCESS && i < count; i++) CHECK(in[i] == next + i);
    if (code != MPI_SUCCESS) CHECK(MPI_File_revoke(handle) == MPI_SUCCESS);
    CHECK(MPI_File_close(&handle) == MPI_SUCCESS);
    return code;
}

static int one_call(unsigned long what, int tag) {
    switch (what % 11) {
        case 7:
        case 8: return window(what / 11);
        case 9: return path == NULL ? window(what / 11) : file(what / 11);
        case 0: return ring(3, tag);
        case 1: return ring(large, tag);
        case 2: return sum(1);
        case 3: return sum(large);
        case 4: return gather(tag);
        case 5: return MPI_Barrier(living);
        default: return duplicate();
    }
}

static MPI_Comm survivors(void) {
    MPI_Comm made;
    int size;
    CHECK(MPIX_Comm_shrink(living, &made) == MPI_SUCCESS);
    MPI_Comm_size(made, &size);
    CHECK(size <= all && size >= left);
    return made;
}

/* True if all calls of all processes have succeeded. All get the same result and the same error. */
static int agree(int well, int answer[2]) {
    int flag = ~(1 << (mine + 1)) & (well ? ~0 : ~1);
    const int code = MPIX_Comm_agree(living, &flag);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_PROC_FAILED);
    CHECK((flag & 1 << (mine + 1)) == 0);
    answer[0] = flag;
    answer[1] = class_of(code);
    return code == MPI_SUCCESS && (flag & 1) != 0;
}

static void compare(const int answer[2]) {
    int extremes[4] = {answer[0], ~answer[0], answer[1], ~answer[1]}, found[4];
    if (MPI_Allreduce(extremes, found, 4, MPI_INT, MPI_MIN, living) == MPI_SUCCESS)
        CHECK(found[0] == ~found[1] && found[2] == ~found[3]);
}

/* A few calls, the same on all. A process in which one fails leaves the others without an answer,
 * so it revokes the communicator. Afterwards all agree on whether to go on without the dead. */
static int together(unsigned long seed) {
    unsigned long state = seed;
    int calls, code = MPI_SUCCESS, well, answer[2];
    for (calls = 0; calls < 5 && code == MPI_SUCCESS; calls++) code = one_call(next(&state), calls);
    if (code != MPI_SUCCESS) {
        if (!is_of_a_death(code)) {
            char text[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(code, text, &length);
            fprintf(stderr, "rank %d of %d: %s\n", mine, all, text);
        }
        CHECK(is_of_a_death(code));
        CHECK(MPIX_Comm_revoke(living) == MPI_SUCCESS);
    }
    well = agree(code == MPI_SUCCESS, answer);
    if (next(&seed) / 7 % 3 == 0) {
        MPI_Comm made = survivors();
        MPI_Comm_free(&made);
    }
    if (!well) {
        MPI_Comm made = survivors();
        if (living != MPI_COMM_WORLD) CHECK(MPI_Comm_free(&living) == MPI_SUCCESS);
        living = made;
        MPI_Comm_rank(living, &mine);
        MPI_Comm_size(living, &all);
    }
    compare(answer);
    return well;
}

int main(int argc, char** argv) {
    const unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int rounds, last = 0, most_kills;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    most_kills = argc > 2 ? atoi(argv[2]) : ranks - 1;
    path = argc > 3 ? argv[3] : NULL;
    CHECK(ranks > 1 && ranks <= most && most_kills < ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    living = MPI_COMM_WORLD;
    mine = me;
    all = ranks;
    choose(seed, most_kills);
    for (rounds = 0; !last; rounds++) {
        last = all == left;
        CHECK(together(seed * 99 + (unsigned long)rounds * 12345) || !last);
    }
    if (mine == 0 && path != NULL) remove(path);
    if (mine == 0) printf("deaths_soak: %d of %d are left\n", all, ranks);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
