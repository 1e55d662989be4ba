/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands for the library of another MPI: only its name matters. */
int MPI_Init(int* argc, char*** argv);
int MPI_Init(int* argc, char*** argv) {
    (void)argc;
    (void)argv;
    return 0;
}
