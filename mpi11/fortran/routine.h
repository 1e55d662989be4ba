// SPDX-License-Identifier: BSD-3-Clause
// Lists of parameters for the routines that generate.cpp lists: PARAMETERS_3(F) declares the first
// three of F's routine, with types Passed<F, place>; NAMES_3 are their names.
#pragma once

#define PARAMETERS_0(F)
#define PARAMETERS_1(F) Passed<F, 0> a,
#define PARAMETERS_2(F) PARAMETERS_1(F) Passed<F, 1> b,
#define PARAMETERS_3(F) PARAMETERS_2(F) Passed<F, 2> c,
#define PARAMETERS_4(F) PARAMETERS_3(F) Passed<F, 3> d,
#define PARAMETERS_5(F) PARAMETERS_4(F) Passed<F, 4> e,
#define PARAMETERS_6(F) PARAMETERS_5(F) Passed<F, 5> f,
#define PARAMETERS_7(F) PARAMETERS_6(F) Passed<F, 6> g,
#define PARAMETERS_8(F) PARAMETERS_7(F) Passed<F, 7> h,
#define PARAMETERS_9(F) PARAMETERS_8(F) Passed<F, 8> i,
#define PARAMETERS_10(F) PARAMETERS_9(F) Passed<F, 9> j,
#define PARAMETERS_11(F) PARAMETERS_10(F) Passed<F, 10> k,
#define PARAMETERS_12(F) PARAMETERS_11(F) Passed<F, 11> l,
#define PARAMETERS_13(F) PARAMETERS_12(F) Passed<F, 12> m,
#define NAMES_0
#define NAMES_1 a
#define NAMES_2 NAMES_1, b
#define NAMES_3 NAMES_2, c
#define NAMES_4 NAMES_3, d
#define NAMES_5 NAMES_4, e
#define NAMES_6 NAMES_5, f
#define NAMES_7 NAMES_6, g
#define NAMES_8 NAMES_7, h
#define NAMES_9 NAMES_8, i
#define NAMES_10 NAMES_9, j
#define NAMES_11 NAMES_10, k
#define NAMES_12 NAMES_11, l
#define NAMES_13 NAMES_12, m
