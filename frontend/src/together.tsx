// Several experiments side by side: how verdicts changed.
import { toExperiment } from "./address";
import { useLater } from "./loading";
import type { Source } from "./source";
import { count, figure, range } from "./text";
import type { Experiment } from "./types";

export function TogetherPage({ sources }: { sources: Source[] }) {
  const all = useLater("overviews", () => Promise.all(sources.map((source) => source.overview())));
  if (!all.value) return <main><p class="faint">{all.error || "Reading…"}</p></main>;
  return (
    <main class="together">
      <h1>{count(sources.length)} experiments</h1>
      <div class="scroll" tabIndex={0} role="region" aria-label="Experiments">
        <table>
          <thead><tr><th scope="col">Experiment</th><th scope="col">Title</th><th scope="col">State</th><th scope="col" class="number">Debates</th><th scope="col" class="number">Cells</th><th scope="col" class="number">Seed</th></tr></thead>
          <tbody>{all.value.map((one) => (
            <tr><th scope="row"><a href={toExperiment(one.name)}>{one.name}</a></th><td>{one.title}</td><td class={`state ${one.progress?.state ?? ""}`}>{one.progress?.state ?? "–"}</td>
              <td class="number">{count(one.index.debates)}</td><td class="number">{one.cells.length}</td><td class="number">{one.seed ?? "–"}</td></tr>
          ))}</tbody>
        </table>
      </div>
      {all.value.length > 1 && <Claims all={all.value} />}
    </main>
  );
}

function Claims({ all }: { all: Experiment[] }) {
  const claims = [...new Set(all.flatMap((one) => one.verdicts.map((row) => row.claim)))];
  if (!claims.length) return null;
  return (
    <section><h2>Verdicts</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Verdicts by experiment">
        <table>
          <thead><tr><th scope="col">Claim</th>{all.map((one) => <th scope="col">{one.name}</th>)}</tr></thead>
          <tbody>{claims.map((claim) => {
            const rows = all.map((one) => one.verdicts.find((row) => row.claim === claim));
            const isSame = new Set(rows.filter(Boolean).map((row) => row!.verdict)).size <= 1;
            return (
              <tr class={isSame ? "" : "differs"}><th scope="row"><code>{claim}</code></th>
                {rows.map((row) => <td>{row ? <><a class={{ supported: "yes", contradicted: "no" }[row.verdict] ?? "open"} href={row.link}>{row.verdict}</a><br /><span class="faint">{figure(row.estimate, row.unit)} {range(row.ci_low, row.ci_high, row.unit)}</span></> : <span class="faint">not claimed</span>}</td>)}
              </tr>
            );
          })}</tbody>
        </table>
      </div>
    </section>
  );
}
