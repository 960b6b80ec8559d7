#!/usr/bin/env bash
# Every figure of speed in docs/benchmarks/README.md, one after the other, on a machine that does nothing else: about 18 minutes.
#   benchmarks/speed/all.sh [FOLDER]     the tables, one file a script, in FOLDER (benchmarks/measured by default)
set -uo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=.
out=${1:-benchmarks/measured}
mkdir -p "$out"
python=${PYTHON:-.venv/bin/python}
unset PYTHONDONTWRITEBYTECODE    # as users have it: else every process compiles this project's own modules anew
{ nproc; cat /proc/loadavg; "$python" --version; } > "$out/machine.txt"

measure() {  # NAME SCRIPT ARGUMENTS: a script that fails leaves its error in its file, and the others run
    echo "== $1: $(date +%H:%M:%S)"
    "$python" "benchmarks/speed/$2" "${@:3}" > "$out/$1.md" 2>&1 || echo "   failed: $out/$1.md"
}

measure one-direct      throughput.py --case one  --way direct  --cores 1 2 4
measure grid-direct     throughput.py --case grid --way direct  --cores 1 2 4
measure one-litellm     throughput.py --case one  --way litellm --cores 2
measure grid-litellm    throughput.py --case grid --way litellm --cores 1 2
measure litellm-1s      throughput.py --case one  --way litellm --cores 2 --latency 1
measure client          client.py --calls 4000
measure client-100ms    client.py --calls 4000 --in-flight 100 --latency 0.1
measure demo            demo.py
measure growth          growth.py
measure workflow        workflow.py
measure programs        programs.py
measure log             log.py --records 1000000 --resumed 100000
