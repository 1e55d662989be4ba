/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: PROGRAM [before|beside|after|late|late_some|late_children|alone] [code]. Each order
 * works on any number of processes. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

static int errors_seen, last_code;

static void on_error(MPI_Session* session, int* code, ...) {
    CHECK(*session != MPI_SESSION_NULL);
    errors_seen++;
    last_code = *code;
}

static int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static int sum_over(MPI_Comm comm) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
          MPI_SUCCESS);
    MPI_Group_free(&group);
    return comm;
}

static void all_sets(MPI_Session session) {
    int n, count, world = 0, self = 0, host = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    for (n = 0; n < count; n++) {
        char name[MPI_MAX_PSET_NAME_LEN], size[16];
        int length = 0, flag = 0, members;
        MPI_Info info;
        MPI_Comm comm;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK((int)strlen(name) == length - 1);
        MPI_Session_get_pset_info(session, name, &info);
        MPI_Info_get(info, "mpi_size", sizeof(size) - 1, size, &flag);
        CHECK(flag);
        MPI_Info_free(&info);
        /* every rank is in its own set of that name, and all make it at the same time */
        comm = comm_of(session, name, "all sets");
        MPI_Comm_size(comm, &members);
        CHECK(members == atoi(size) && sum_over(comm) == members);
        MPI_Comm_free(&comm);
        world += strcmp(name, "mpi://WORLD") == 0;
        self += strcmp(name, "mpi://SELF") == 0 && members == 1;
        host += strcmp(name, "torus://HOST") == 0;
    }
    CHECK(world == 1 && self == 1 && host == 1);
}

static void two_groups(MPI_Session session) {
    MPI_Group world, mine, theirs;
    MPI_Comm between;
    int size, rank, range[1][3], remote = 0, first, code;
    MPI_Group_from_session_pset(session, "mpi://world", &world);
    MPI_Group_size(world, &size);
    MPI_Group_rank(world, &rank);
    if (size > 1) {
        const int low = rank < size / 2;
        range[0][0] = 0, range[0][1] = size / 2 - 1, range[0][2] = 1;
        MPI_Group_range_incl(world, 1, range, low ? &mine : &theirs);
        MPI_Group_range_excl(world, 1, range, low ? &theirs : &mine);
        MPI_Group_size(mine, &first);
        /* the other group matters at the leader alone, here the last of each */
        int leader = first - 1, its_leader = size - first - 1, place;
        MPI_Group_rank(mine, &place);
        code = MPI_Intercomm_create_from_groups(
            mine, leader, place == leader ? theirs : MPI_GROUP_NULL, its_leader, "two",
            MPI_INFO_NULL, MPI_ERRORS_RETURN, &between);
        CHECK(code == MPI_SUCCESS);
        MPI_Comm_remote_size(between, &remote);
        CHECK(remote == size - first && sum_over(between) == remote);
        MPI_Comm_free(&between);
        /* groups that overlap: an error on every rank */
        code = MPI_Intercomm_create_from_groups(mine, leader, mine, 0, "two", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &between);
        CHECK(class_of(code) == MPI_ERR_GROUP && between == MPI_COMM_NULL);
        MPI_Group_free(&mine);
        MPI_Group_free(&theirs);
    }
    MPI_Group_free(&world);
}

static void buffers(MPI_Session session) {
    MPI_Comm comm = comm_of(session, "mpi://WORLD", "buffers");
    int rank, size, value, got = -1, bytes = -1;
    static char memory[4096], small[MPI_BSEND_OVERHEAD];
    void* back = NULL;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (value = 0; value < 3; value++) {
        if (value == 0) MPI_Session_attach_buffer(session, memory, sizeof memory);
        if (value == 1) MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
        if (value == 2) { /* the communicator's is the first choice, and full */
            static int large[2048];
            MPI_Comm_detach_buffer(comm, &back, &bytes);
            CHECK(back == MPI_BUFFER_AUTOMATIC && bytes == 0);
            MPI_Comm_attach_buffer(comm, small, sizeof small);
            CHECK(class_of(MPI_Bsend(large, 2048, MPI_INT, rank, 9, comm)) == MPI_ERR_BUFFER);
        }
        MPI_Bsend(&value, 1, MPI_INT, (rank + 1) % size, 5, comm);
        MPI_Session_iflush_buffer(session, &request);
        MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE);
        CHECK(got == value);
        MPI_Session_flush_buffer(session);
        MPI_Comm_flush_buffer(comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL);
    }
    MPI_Session_detach_buffer(session, &back, &bytes);
    CHECK(back == memory && bytes == sizeof memory);
    MPI_Comm_free(&comm); /* detaches what is still attached */
}

static void errors(MPI_Session session) {
    MPI_Errhandler handler, found;
    MPI_Group group;
    MPI_Info info;
    int n;
    CHECK(class_of(MPI_Group_from_session_pset(session, "mpi://UNKNOWN", &group)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Session_get_pset_info(session, "", &info)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &n, NULL)) == MPI_ERR_ARG);
    MPI_Session_create_errhandler(on_error, &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Session_get_errhandler(session, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    errors_seen = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL);
    CHECK(errors_seen == 1 && class_of(last_code) == MPI_ERR_ARG);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    CHECK(errors_seen == 2 && last_code == MPI_ERR_OTHER);
}

static void everything(void) {
    MPI_Session session, other;
    MPI_Info info;
    char level[64];
    int flag = 0;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", sizeof level - 1, level, &flag);
    CHECK(flag && strcmp(level, "MPI_THREAD_SINGLE") == 0);
    MPI_Info_free(&info);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(session)) == session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    CHECK(other != session);
    all_sets(session);
    two_groups(session);
    buffers(session);
    errors(session);
    /* a communicator that is left ends with its session; the other session goes on */
    MPI_Comm left = comm_of(session, "mpi://WORLD", "left"), live = comm_of(other, "mpi://WORLD", "");
    const MPI_Session copy = session;
    MPI_Session_finalize(&session);
    CHECK(session == MPI_SESSION_NULL);
    (void)copy;
    (void)left;
    CHECK(sum_over(live) > 0);
    MPI_Comm_free(&live);
    MPI_Session_finalize(&other);
}

/* In the world model a second end is an error on MPI_COMM_WORLD. */
static void twice(void) {
    MPI_Session session, copy;
    MPI_Group group;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group); /* keeps the object */
    copy = session;
    MPI_Session_finalize(&session);
    CHECK(class_of(MPI_Session_finalize(&session)) == MPI_ERR_SESSION);
    CHECK(class_of(MPI_Session_finalize(&copy)) == MPI_ERR_SESSION);
    MPI_Group_free(&group);
    CHECK(class_of(MPI_Session_finalize(&copy)) == MPI_ERR_SESSION);
}

static void world(int with_session) {
    int flag, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (with_session) {
        everything();
        twice();
    }
    CHECK(sum_over(MPI_COMM_WORLD) == size);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
}

/* The even ranks of the world. */
static void even_ranks(void) {
    MPI_Session session;
    MPI_Group world, even;
    MPI_Comm comm;
    int size, range[1][3] = {{0, 0, 2}};
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    comm = comm_of(session, "mpi://SELF", "alone");
    CHECK(sum_over(comm) == 1);
    MPI_Comm_free(&comm);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_size(world, &size);
    range[0][1] = size - 1;
    MPI_Group_range_incl(world, 1, range, &even);
    CHECK(MPI_Comm_create_from_group(even, "even", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
          MPI_SUCCESS);
    CHECK(sum_over(comm) == (size + 1) / 2);
    MPI_Comm_free(&comm);
    MPI_Group_free(&world);
    MPI_Group_free(&even);
    MPI_Session_finalize(&session);
}

/* Every odd rank ends after MPI_Finalize, with or without its exit handlers. */
static void late_some(void) {
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    if (rank % 4 == 1) exit(0);
    if (rank % 4 == 3) _exit(0);
    even_ranks();
}

/* Parents and children disconnect; then both have their first sessions. */
static void late_children(char* program, int children) {
    MPI_Comm parent, inter;
    char way[] = "late_children";
    char* arguments[] = {way, NULL};
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    MPI_Comm_remote_size(inter, &size);
    CHECK(sum_over(inter) == size);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    everything();
}

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "alone";
    int flag = 1, i;
    if (strcmp(way, "before") == 0) {
        everything();
        MPI_Initialized(&flag);
        CHECK(!flag);
        world(0);
    } else if (strcmp(way, "beside") == 0) {
        world(1);
    } else if (strcmp(way, "after") == 0) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        world(1); /* the session lives through it */
        MPI_Comm comm = comm_of(session, "mpi://WORLD", "through");
        CHECK(sum_over(comm) > 0);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
        everything();
    } else if (strcmp(way, "late") == 0) {
        world(0);
        for (i = 0; i < 3; i++) everything();
        MPI_Finalized(&flag);
        CHECK(flag);
    } else if (strcmp(way, "late_some") == 0) {
        late_some();
    } else if (strcmp(way, "late_children") == 0) {
        late_children(argv[0], 3);
    } else {
        for (i = 0; i < 3; i++) everything(); /* in and out, again and again */
        MPI_Initialized(&flag);
        CHECK(!flag);
    }
    return argc > 2 ? atoi(argv[2]) : 0;
}
