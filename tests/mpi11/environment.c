/* SPDX-License-Identifier: BSD-3-Clause */
/* Infos of the environment: as MPI_INFO_ENV, from arguments of the program, and before MPI_Init. */
#include "cases.h"

static MPI_Info early;

static void check_key(MPI_Info info, const char* key, const char* expected) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    CHECK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS && found);
    if (strcmp(value, expected) != 0) fprintf(stderr, "%s is '%s'\n", key, value);
    CHECK(strcmp(value, expected) == 0);
}

static void environment(void) {
    char* words[] = {"program", "one", "two", NULL};
    int keys = 0, early_keys = 0, found = 0;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    CHECK(early != MPI_INFO_NULL);
    check_key(early, "command", "early");
    check_key(early, "argv", "");
    CHECK(MPI_Info_create_env(3, words, &info) == MPI_SUCCESS);
    check_key(info, "command", "program");
    check_key(info, "argv", "one two");
    /* The same whenever it is made: without what MPI_Init finds out for MPI_INFO_ENV. */
    MPI_Info_get_nkeys(info, &keys);
    MPI_Info_get_nkeys(early, &early_keys);
    CHECK(keys == early_keys);
    CHECK(MPI_Info_get(info, "maxprocs", MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS && !found);
    snprintf(value, sizeof value, "%d", ranks);
    check_key(MPI_INFO_ENV, "maxprocs", value);
    check_key(MPI_INFO_ENV, "thread_level", "MPI_THREAD_SINGLE");
    CHECK(MPI_Info_set(info, "of", "the program") == MPI_SUCCESS); /* it is no MPI_INFO_ENV */
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_create_env(0, NULL, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS && MPI_Info_free(&early) == MPI_SUCCESS);
}

static const Case cases[] = {{"environment", environment}};

int main(int argc, char** argv) {
    char* words[] = {"early", NULL};
    if (MPI_Info_create_env(1, words, &early) != MPI_SUCCESS) return 1;
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
