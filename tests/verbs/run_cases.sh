#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_cases.sh FILE: on node 0 of a testbed, one case after the other, and continues after failures.
# A line of FILE is NAME, seconds and a shell command, with tabs between. A line is printed for each case, and its
# output if it failed. A case that ends with 77 was skipped; its last line is the reason.
# Exit code: 0 none failed, 1 some did.
failed=0
tab=$(printf '\t')
output=/tmp/case.$$
trap 'rm -f $output' EXIT
while IFS=$tab read -r name limit command; do
    read -r begun _ </proc/uptime
    timeout -k 5 "$limit" sh -c "$command" >"$output" 2>&1 </dev/null
    code=$?
    read -r ended _ </proc/uptime
    seconds=$((${ended%.*} - ${begun%.*}))
    case $code in
    0) printf 'ok       %-44s %4d s\n' "$name" $seconds ;;
    77) printf 'skipped  %-44s %s\n' "$name" "$(tail -n 1 "$output")" ;;
    *)
        failed=1
        [ $code = 124 ] || [ $code = 137 ] && why="not ended after $limit s" || why="exit code $code"
        printf 'FAILED   %-44s %4d s: %s\n' "$name" $seconds "$why"
        tail -n 100 "$output" | sed 's/^/    | /'
        ;;
    esac
    # Figures that a case wants to be seen even where all is well.
    [ $code != 0 ] || sed -n 's/^figure: /         /p' "$output"
done <"$1"
exit $failed
