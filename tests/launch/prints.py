# SPDX-License-Identifier: BSD-3-Clause
"""The same as prints.c, in Python without MPI: the rank comes from the environment."""

import os
import signal
import sys
import time

print("before MPI_Init")
rank = os.environ["TORUSMP_RANK"]
print("rank", rank, "is here")
open(f"{sys.argv[1]}.{rank}", "w").close()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.002)
if "kill" in sys.argv[2:]:
    os.kill(os.getpid(), signal.SIGKILL)
print("rank", rank, "ends")
