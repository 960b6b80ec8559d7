"""How long the calls of waves take on this machine, by their number. The provider is a function of the request.

python benchmarks/speed/waves.py [10000 20000 50000]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "models"))

from batch_stub import BatchStub  # noqa: E402 (below the path of the tests)

from cortexdsl.core import Call, Limits, Model  # noqa: E402
from cortexdsl.models.client import open_client  # noqa: E402

MODEL = Model("entry", "openai/gpt-4o-mini", api_base="http://stub/v1", transport="batch")


def seconds_of(calls: int) -> tuple[float, int]:
    """Return the seconds that so many calls take, and the number of waves."""
    stub = BatchStub(now=time.time, delay=0.0)

    async def wave(folder: Path) -> None:
        log = folder / "calls" / "a.jsonl"
        async with open_client(
            log, ledgers=folder / "spent", limits=Limits(failed=1.0), batch_http=stub.transport
        ) as client:
            texts = (f"call {number}" for number in range(calls))
            await asyncio.gather(*(client(Call(MODEL, ({"role": "user", "content": text},), 1)) for text in texts))

    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        asyncio.run(wave(Path(name)))
        return time.perf_counter() - began, len(stub.sizes())


def main() -> None:
    print("| calls | waves | seconds | calls a second |")
    print("|---|---|---|---|")
    for calls in map(int, sys.argv[1:] or ("10000", "20000", "50000")):
        seconds, waves = seconds_of(calls)
        print(f"| {calls:,} | {waves} | {seconds:.1f} | {calls / seconds:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
