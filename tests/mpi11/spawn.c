/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join a running job are refused, by the same class on all ranks. */
#include "cases.h"

#define MARK 4711

static void versions(void) {
    int version = 0, subversion = -1;
    CHECK(MPI_VERSION == 5 && MPI_SUBVERSION == 0);
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version == 5 && subversion == 0);
}

static void parent(void) {
    MPI_Comm found = MPI_COMM_WORLD;
    CHECK(MPI_Comm_get_parent(&found) == MPI_SUCCESS && found == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_get_parent(NULL), MPI_ERR_ARG);
}

static int all_are(const int* codes, int count, int expected) {
    int i;
    for (i = 0; i < count; i++)
        if (codes[i] != expected) return 0;
    return codes[count] == MARK;
}

/* Only the root knows how many codes there are: the others pass other arguments. */
static void spawn(void) {
    const int root = ranks - 1;
    int codes[4] = {MARK, MARK, MARK, MARK};
    char text[MPI_MAX_ERROR_STRING];
    int length, code;
    MPI_Comm inter = MPI_COMM_WORLD;
    code = MPI_Comm_spawn(me == root ? "worker" : NULL, MPI_ARGV_NULL, me == root ? 3 : -1,
                          MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, codes);
    CHECK_CLASS(code, MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL && all_are(codes, 3, MPI_ERR_SPAWN));
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "cannot start processes (3 asked for)") != NULL);
    CHECK(strstr(text, "torus-run -np 2 a : -np 2 b") != NULL);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 3, MPI_INFO_NULL, root, MPI_COMM_WORLD,
                               &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN);
    /* The root's mistakes have the same class everywhere. */
    codes[0] = MARK;
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, me == root ? -1 : 3, MPI_INFO_NULL, root,
                               MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_ARG);
    CHECK(codes[0] == MARK);
    CHECK_CLASS(MPI_Comm_spawn(me == root ? NULL : "worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, root,
                               MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, ranks, MPI_COMM_WORLD,
                               &inter, codes),
                MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter,
                               codes),
                MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, NULL,
                               codes),
                MPI_ERR_ARG);
}

static void spawn_multiple(void) {
    char a[] = "a", b[] = "b";
    char* commands[] = {a, b};
    int processes[] = {1, 2};
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int codes[4] = {MARK, MARK, MARK, MARK};
    MPI_Comm inter = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Comm_spawn_multiple(me == 0 ? 2 : 0, me == 0 ? commands : NULL,
                                        MPI_ARGVS_NULL, me == 0 ? processes : NULL,
                                        me == 0 ? infos : NULL, 0, MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL && all_are(codes, 3, MPI_ERR_SPAWN));
    CHECK_CLASS(MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
    processes[0] = 2147483647;
    CHECK_CLASS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
}

static void ports(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Open_port(MPI_INFO_NULL, port), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_Open_port(MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Close_port("port"), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Close_port(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_accept("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    inter = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Comm_connect("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_connect("port", MPI_INFO_NULL, -1, MPI_COMM_WORLD, &inter), MPI_ERR_ROOT);
    inter = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Comm_join(0, &inter), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(inter == MPI_COMM_NULL);
}

static void names(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    CHECK_CLASS(MPI_Publish_name("service", MPI_INFO_NULL, "port"), MPI_ERR_SERVICE);
    CHECK_CLASS(MPI_Unpublish_name("service", MPI_INFO_NULL, "port"), MPI_ERR_SERVICE);
    CHECK_CLASS(MPI_Lookup_name("service", MPI_INFO_NULL, port), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Lookup_name(NULL, MPI_INFO_NULL, port), MPI_ERR_ARG);
}

static void between(void) {
    MPI_Comm half, inter, made;
    if (ranks < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 0, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, inter, &made,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_accept("port", MPI_INFO_NULL, 0, inter, &made), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static const Case cases[] = {{"versions", versions}, {"parent", parent},
                             {"spawn", spawn},       {"spawn_multiple", spawn_multiple},
                             {"ports", ports},       {"names", names},
                             {"between", between}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
