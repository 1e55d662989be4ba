/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: several threads make calls concurrently, in cases. Each case starts its own
 * threads. */
#include "cases.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { workers = 4, rounds = 60, length = 700, large = 9000 };

static int next_rank, previous_rank;

static void in_threads(void* (*work)(void*)) {
    pthread_t threads[workers];
    int w;
    next_rank = (me + 1) % ranks;
    previous_rank = (me + ranks - 1) % ranks;
    for (w = 0; w < workers; w++)
        CHECK(pthread_create(&threads[w], NULL, work, (void*)(intptr_t)w) == 0);
    for (w = 0; w < workers; w++) CHECK(pthread_join(threads[w], NULL) == 0);
}

/* Messages of many sizes in one communicator, distinguished by the thread's tag. */
static void* by_tags_work(void* number) {
    const int w = (int)(intptr_t)number;
    int* out = malloc(sizeof(int) * large);
    int* in = malloc(sizeof(int) * large);
    int round, i;
    for (round = 0; round < rounds; round++) {
        const int n = round % 7 == 0 ? large : round * 11 % length;
        MPI_Status status;
        int count;
        for (i = 0; i < n; i++) out[i] = me * 1000000 + w * 10000 + round + i;
        CHECK(MPI_Sendrecv(out, n, MPI_INT, next_rank, w, in, large, MPI_INT, previous_rank, w,
                           MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == n);
        CHECK(status.MPI_SOURCE == previous_rank && status.MPI_TAG == w);
        for (i = 0; i < n; i++) CHECK(in[i] == previous_rank * 1000000 + w * 10000 + round + i);
    }
    free(out), free(in);
    return NULL;
}
static void by_tags(void) {
    in_threads(by_tags_work);
}

/* Many requests at a time, completed one by one, some, and all. */
static void* requests_work(void* number) {
    const int w = (int)(intptr_t)number;
    enum { n = 8 };
    int out[n], in[n], round, i, left, index, flag;
    for (round = 0; round < rounds; round++) {
        MPI_Request requests[2 * n];
        int indices[2 * n];
        for (i = 0; i < n; i++) {
            out[i] = round * 100 + i;
            in[i] = -1;
            CHECK(MPI_Irecv(&in[i], 1, MPI_INT, previous_rank, w * n + i, MPI_COMM_WORLD,
                            &requests[i]) == MPI_SUCCESS);
        }
        for (i = 0; i < n; i++)
            CHECK(MPI_Isend(&out[i], 1, MPI_INT, next_rank, w * n + i, MPI_COMM_WORLD,
                            &requests[n + i]) == MPI_SUCCESS);
        if (round % 3 == 0)
            for (left = 2 * n; left > 0; left--)
                CHECK(MPI_Waitany(2 * n, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
                      index != MPI_UNDEFINED);
        else if (round % 3 == 1)
            for (left = 2 * n; left > 0; left -= index)
                CHECK(MPI_Waitsome(2 * n, requests, &index, indices, MPI_STATUSES_IGNORE) ==
                      MPI_SUCCESS);
        else
            for (flag = 0; !flag;)
                CHECK(MPI_Testall(2 * n, requests, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (i = 0; i < n; i++) CHECK(in[i] == round * 100 + i);
    }
    return NULL;
}
static void requests(void) {
    in_threads(requests_work);
}

/* All threads take what comes, with matched probes: each message is received once. */
static int taken[workers];
static void* probes_work(void* number) {
    const int w = (int)(intptr_t)number;
    int round, value, sum = 0;
    for (round = 0; round < rounds; round++) {
        MPI_Message message;
        MPI_Status status;
        MPI_Request sent;
        const int out = 1 + round % 5;
        int flag = 0;
        CHECK(MPI_Isend(&out, 1, MPI_INT, next_rank, 1000, MPI_COMM_WORLD, &sent) == MPI_SUCCESS);
        if (round % 2 == 0)
            CHECK(MPI_Mprobe(MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, &message, &status) ==
                  MPI_SUCCESS);
        else
            while (!flag)
                CHECK(MPI_Improbe(previous_rank, 1000, MPI_COMM_WORLD, &flag, &message, &status) ==
                      MPI_SUCCESS);
        CHECK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status) == MPI_SUCCESS);
        sum += value;
        CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    taken[w] = sum;
    return NULL;
}
static void probes(void) {
    int w, round, all = 0, expected = 0;
    in_threads(probes_work);
    for (w = 0; w < workers; w++) all += taken[w];
    for (round = 0; round < rounds; round++) expected += workers * (1 + round % 5);
    CHECK(all == expected);
}

/* One thread waits in MPI_Buffer_detach for what another one receives after it has sent by the same
 * buffer, and disconnected. */
static int detacher;
static void* detaching_work(void* out) {
    static char buffer[1 << 20];
    void* detached = NULL;
    int size = 0;
    CHECK(MPI_Buffer_attach(buffer, sizeof buffer) == MPI_SUCCESS);
    CHECK(MPI_Bsend(out, large, MPI_INT, me, 77, MPI_COMM_WORLD) == MPI_SUCCESS);
    __atomic_store_n(&detacher, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    CHECK(MPI_Buffer_detach(&detached, &size) == MPI_SUCCESS);
    CHECK(detached == buffer && size == (int)sizeof buffer);
    return NULL;
}
static int sleeps(int thread) {
    char path[64], text[512], *end;
    FILE* file;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    file = fopen(path, "r");
    if (file == NULL) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}
static void detaching(void) {
    static int out[large], in[large];
    int few = 5, got = -1;
    pthread_t thread;
    MPI_Comm copy;
    out[large - 1] = 33;
    detacher = 0;
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &copy) == MPI_SUCCESS);
    CHECK(pthread_create(&thread, NULL, detaching_work, out) == 0);
    while (!sleeps(__atomic_load_n(&detacher, __ATOMIC_ACQUIRE))) usleep(100);
    CHECK(MPI_Bsend(&few, 1, MPI_INT, 0, 78, copy) == MPI_SUCCESS);
    CHECK(MPI_Recv(&got, 1, MPI_INT, 0, 78, copy, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == few);
    CHECK(MPI_Comm_disconnect(&copy) == MPI_SUCCESS);
    CHECK(MPI_Recv(in, large, MPI_INT, me, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in[large - 1] == 33);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Communicators made of others at the same time, each thread of its own one. */
static MPI_Comm own[workers];
static void* making_work(void* number) {
    const int w = (int)(intptr_t)number;
    int round;
    for (round = 0; round < rounds / 6; round++) {
        MPI_Comm copy, half, by_group;
        MPI_Group group;
        MPI_Request request;
        int out = w * 100 + round, in = -1, r, n;
        CHECK(MPI_Comm_idup(own[w], &copy, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Sendrecv(&out, 1, MPI_INT, next_rank, 0, &in, 1, MPI_INT, previous_rank, 0, copy,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              in == out);
        CHECK(MPI_Comm_split(copy, me % 2, -me, &half) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(half, &r) == MPI_SUCCESS && MPI_Comm_size(half, &n) == MPI_SUCCESS);
        in = -1;
        CHECK(MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 0, &in, 1, MPI_INT, (r + n - 1) % n, 0,
                           half, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              in == out);
        /* All threads use one communicator and different tags. */
        CHECK(MPI_Comm_group(half, &group) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, w, &by_group) == MPI_SUCCESS);
        in = -1;
        CHECK(MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 0, &in, 1, MPI_INT, (r + n - 1) % n, 0,
                           by_group, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              in == out);
        CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&by_group) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    }
    return NULL;
}
static void making(void) {
    int w;
    for (w = 0; w < workers; w++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own[w]) == MPI_SUCCESS);
    in_threads(making_work);
    for (w = 0; w < workers; w++) CHECK(MPI_Comm_free(&own[w]) == MPI_SUCCESS);
}

/* Attributes, names of errors and datatypes have no thread of their own. */
static int shared_key;
static void* objects_work(void* number) {
    const int w = (int)(intptr_t)number;
    int round;
    for (round = 0; round < rounds; round++) {
        MPI_Datatype type;
        MPI_Info info;
        MPI_Errhandler handler;
        int key, flag, size, code;
        void* value;
        CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key) == MPI_SUCCESS);
        CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag) == MPI_SUCCESS && flag &&
              value == &key);
        CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, shared_key, &value, &flag) == MPI_SUCCESS && flag &&
              value == taken);
        CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS && flag &&
              *(int*)value > 0);
        CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key) == MPI_SUCCESS);
        CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
        CHECK(MPI_Type_vector(3, w + 1, w + 2, MPI_INT, &type) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
        CHECK(MPI_Type_size(type, &size) == MPI_SUCCESS && size == 12 * (w + 1));
        CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
        CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
        CHECK(MPI_Info_set(info, "a", "b") == MPI_SUCCESS);
        CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
        CHECK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) == MPI_SUCCESS);
        CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
        CHECK(MPI_Add_error_class(&code) == MPI_SUCCESS);
        CHECK(MPI_Add_error_string(code, "thread") == MPI_SUCCESS);
    }
    return NULL;
}
static void objects(void) {
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &shared_key,
                                 NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, shared_key, taken) == MPI_SUCCESS);
    in_threads(objects_work);
    CHECK(MPI_Comm_free_keyval(&shared_key) == MPI_SUCCESS);
}

/* Collectives on different communicators at once, blocking and not. */
static void* collectives_work(void* number) {
    const int w = (int)(intptr_t)number;
    int round, i;
    for (round = 0; round < rounds; round++) {
        double value = me + w, sum = 0;
        int block[length], words[3] = {0, 0, 0};
        int* all = malloc(sizeof(int) * (size_t)ranks);
        MPI_Request pending;
        CHECK(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, own[w]) == MPI_SUCCESS);
        CHECK(sum == ranks * (ranks - 1) / 2 + (double)w * ranks);
        for (i = 0; i < length; i++) block[i] = me == round % ranks ? w * 1000 + round + i : -1;
        CHECK(MPI_Bcast(block, length, MPI_INT, round % ranks, own[w]) == MPI_SUCCESS);
        for (i = 0; i < length; i++) CHECK(block[i] == w * 1000 + round + i);
        words[0] = me * 7 + w;
        CHECK(MPI_Iallgather(words, 1, MPI_INT, all, 1, MPI_INT, own[w], &pending) == MPI_SUCCESS);
        CHECK(MPI_Barrier(own[w]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&pending, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (i = 0; i < ranks; i++) CHECK(all[i] == i * 7 + w);
        free(all);
    }
    return NULL;
}
static void collectives(void) {
    int w;
    for (w = 0; w < workers; w++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own[w]) == MPI_SUCCESS);
    in_threads(collectives_work);
    for (w = 0; w < workers; w++) CHECK(MPI_Comm_free(&own[w]) == MPI_SUCCESS);
}

/* Threads that send, while others wait for them in blocking receives with wildcards. */
static void* wildcards_work(void* number) {
    const int w = (int)(intptr_t)number;
    int round, value;
    MPI_Status status;
    for (round = 0; round < rounds; round++) {
        if (w % 2 == 0)
            CHECK(MPI_Ssend(&round, 1, MPI_INT, next_rank, w, own[0]) == MPI_SUCCESS);
        else
            CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, w - 1, own[0], &status) ==
                      MPI_SUCCESS &&
                  value == round && status.MPI_SOURCE == previous_rank);
    }
    return NULL;
}
static void wildcards(void) {
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own[0]) == MPI_SUCCESS);
    in_threads(wildcards_work);
    CHECK(MPI_Comm_free(&own[0]) == MPI_SUCCESS);
}

/* The only thread that polls may be asleep when another one sends to this rank itself; the pause
 * makes that likely, and what is checked does not depend on it. */
static void* self_send_work(void* unused) {
    const struct timespec pause = {0, 20000000};
    (void)unused;
    nanosleep(&pause, NULL);
    CHECK(MPI_Send(&me, 1, MPI_INT, 0, 3, MPI_COMM_SELF) == MPI_SUCCESS);
    return NULL;
}
/* And for the answer to a synchronous send that waits. */
static void* self_receive_work(void* unused) {
    const struct timespec pause = {0, 20000000};
    int got = -1;
    (void)unused;
    nanosleep(&pause, NULL);
    CHECK(MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == me);
    return NULL;
}
static void self_receive_wakes_a_send(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, self_receive_work, NULL) == 0);
    CHECK(MPI_Ssend(&me, 1, MPI_INT, 0, 4, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(pthread_join(thread, NULL) == 0);
}
static void self_send_wakes_a_probe(void) {
    pthread_t thread;
    MPI_Status status;
    int got = -1;
    CHECK(pthread_create(&thread, NULL, self_send_work, NULL) == 0);
    CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 3);
    CHECK(MPI_Recv(&got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == me);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"self_send_wakes_a_probe", self_send_wakes_a_probe},
        {"self_receive_wakes_a_send", self_receive_wakes_a_send},
        {"detaching", detaching},
        {"by_tags", by_tags},
        {"requests", requests},
        {"probes", probes},
        {"making", making},
        {"objects", objects},
        {"wildcards", wildcards},
        {"collectives", collectives},
    };
    int provided = -1, level = -1, main_thread = 0;
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == provided);
    CHECK(MPI_Is_thread_main(&main_thread) == MPI_SUCCESS && main_thread);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
