// An experiment at a glance: its verdicts, its cells, how far it is; every number leads to its debates.
import { toFind } from "./address";
import type { Keys } from "./keys";
import { go } from "./address";
import type { Opened } from "./loading";
import { count, decimals, duration, figure, many, probability, range, short } from "./text";
import type { Experiment, Metric, Progress, Row } from "./types";

const SIGNS: Record<string, [string, string]> = { supported: ["✓", "yes"], contradicted: ["✗", "no"], undecided: ["?", "open"] };

export function ExperimentPage({ opened, keys }: { opened: Opened; keys: Keys }) {
  const { source, experiment, state } = opened;
  const { index, progress } = state;
  keys["f"] = ["find debates", () => go(toFind(source.name))];
  keys["/"] = ["find debates", () => go(toFind(source.name))];
  const facts = [
    ...Object.entries(experiment.datasets).map(([name, size]) => `${name}: ${many(size, "question")}`),
    experiment.replicates && many(experiment.replicates, "replicate"), many(experiment.cells.length, "cell"),
    experiment.agents.length > 0 && many(experiment.agents.length, "agent"), experiment.seed !== null && `seed ${experiment.seed}`,
  ].filter(Boolean);
  const isRunning = progress !== null && ["running", "failed", "stopped", "silent"].includes(progress.state);
  return (
    <main class="experiment">
      <p class="kicker">Experiment {experiment.name}</p>
      <h1>{experiment.title}</h1>
      <p class="faint">{facts.join(" · ")}</p>
      {!index.is_ready && index.total > 0 && <p class="notice" role="status">Reading records: {Math.floor((100 * index.done) / Math.max(1, index.total))} % of {short(index.total / 1e6)} MB. What is read is there already.</p>}
      {index.faults > 0 && <details class="notice"><summary>{many(index.faults, "line")} of the records cannot be believed, and are left out</summary><ul>{index.messages.map((one) => <li><code>{one}</code></li>)}</ul></details>}
      {experiment.stopped && <p class="notice">{experiment.stopped}</p>}
      {progress && isRunning && <Running progress={progress} />}
      <p class="ways">
        <a class="button" href={toFind(source.name)}>All {index.debates > 0 ? count(index.debates) : ""} debates</a>
        <a href={toFind(source.name, { is: "to-wrong" })}>changed to wrong</a>
        <a href={toFind(source.name, { is: "to-right" })}>changed to right</a>
        <a href={toFind(source.name, { is: "tied" })}>ties</a>
        <a href={toFind(source.name, { is: "unread" })}>unreadable</a>
        <a href={toFind(source.name, { is: "failed" })}>failed calls</a>
        <a href={toFind(source.name, { sort: "persuasive" })}>most persuasive</a>
        <a href={toFind(source.name, { sort: "tokens" })}>most expensive</a>
        {experiment.has_report && <a href={`report/${experiment.name.split("/").map(encodeURIComponent).join("/")}/report.html`}>the report</a>}
      </p>
      <Verdicts experiment={experiment} />
      <Cells opened={opened} />
      <Comparisons experiment={experiment} />
      {experiment.unknown_questions && <p class="faint">Texts of questions are not shown: {experiment.unknown_questions}</p>}
    </main>
  );
}

function Verdicts({ experiment }: { experiment: Experiment }) {
  if (!experiment.verdicts.length) return null;
  return (
    <section><h2>Verdicts</h2>
      <ul class="verdicts">
        {experiment.verdicts.map((row) => {
          const [sign, look] = SIGNS[row.verdict] ?? ["·", "open"];
          return (
            <li>
              <span class={`sign ${look}`} aria-hidden="true">{sign}</span>
              <div><a href={row.link}>{row.claim}</a>
                <p><b class={look}>{row.verdict}</b>: {figure(row.estimate, row.unit)} <span class="faint">{range(row.ci_low, row.ci_high, row.unit)}{row.p_adjusted !== null && `, adjusted ${probability(row.p_adjusted)}`}</span></p>
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Running({ progress }: { progress: Progress }) {
  const { all } = progress;
  const failures = Object.entries(all.failures);
  const facts = [
    `${count(all.debates.done)} of ${count(all.debates.total)} debates`, `${count(all.calls["asked"] ?? 0)} calls`,
    `${short(all.tokens.input + all.tokens.output)} tokens`, all.dollars ? `$${all.dollars.toFixed(2)}` : "",
    all.calls_per_second > 0 ? `${decimals(all.calls_per_second, 2)} calls a second` : "",
    all.seconds_left !== null && all.state === "running" ? `about ${duration(all.seconds_left)} left` : "",
  ].filter(Boolean);
  return (
    <section class="run" aria-label="The run">
      <p role="status"><b>{all.state}</b> {facts.join(" · ")}</p>
      <progress max={Math.max(1, all.debates.total)} value={all.debates.done} aria-label="Debates done" />
      {(failures.length > 0 || (all.calls["retried"] ?? 0) > 0) && (
        <p class="fault">{failures.map(([kind, number]) => `${count(number)} failed: ${kind.replaceAll("_", " ")}`).join(", ")}{failures.length > 0 && " · "}{(all.calls["retried"] ?? 0) > 0 && `${count(all.calls["retried"]!)} tried again (${Object.entries(all.retries).map(([kind, number]) => `${kind.replaceAll("_", " ")} ${number}`).join(", ")})`}</p>
      )}
      {Object.entries(progress.messages).map(([message, jobs]) => <p class="fault">{many(jobs, "job")} ended: {message}</p>)}
      {progress.jobs.silent.length > 0 && <p class="fault">{many(progress.jobs.silent.length, "job")} silent for over a minute, so probably dead: run the experiment again to go on</p>}
    </section>
  );
}

const SHOWN: [string, string, Record<string, string>][] = [
  ["accuracy", "Accuracy", {}], ["input_tokens", "Tokens in", { sort: "tokens" }], ["consensus", "Consensus", {}],
  ["flips", "Changes", { sort: "flips" }], ["ties", "Ties", { is: "tied" }], ["unparsed_turns", "Unreadable", { is: "unread" }],
];

function Cells({ opened }: { opened: Opened }) {
  const { source, experiment, state } = opened;
  const rows = state.progress?.cells ?? [];
  const datasets = [...new Set(experiment.metrics.map((row) => row.dataset))];
  const dataset = datasets.length > 1 ? "all" : datasets[0] ?? "all";
  const known = new Map(experiment.metrics.filter((row) => row.dataset === dataset).map((row) => [`${row.cell}\0${row.metric}`, row]));
  const columns = SHOWN.filter(([metric]) => experiment.cells.some((cell) => known.has(`${cell.cell}\0${metric}`)));
  const span = spanOf([...known.values()].filter((row) => row.metric === "accuracy"));
  const isDone = rows.every((row) => row.state === "done");
  const names = experiment.cells.length ? experiment.cells.map((cell) => cell.cell) : opened.debates?.columns.cells ?? [];
  if (!names.length) return null;
  return (
    <section><h2>Cells</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Cells">
        <table>
          <thead><tr><th scope="col">Cell</th>{!isDone && <><th scope="col">State</th><th scope="col" class="number">Debates</th><th scope="col" class="number">Calls</th><th scope="col" class="number">Left</th></>}
            {columns.map(([metric, name]) => <th scope="col" class={metric === "accuracy" ? "" : "number"}>{name}</th>)}</tr></thead>
          <tbody>
            {names.map((cell) => (
              <tr>
                <th scope="row"><a href={toFind(source.name, { cell })}>{cell}</a></th>
                {!isDone && <Going rows={rows.filter((row) => row.cell === cell)} />}
                {columns.map(([metric, , filters]) => {
                  const row = known.get(`${cell}\0${metric}`);
                  if (!row) return <td class="number">–</td>;
                  if (metric === "accuracy") return <td><Interval row={row} span={span} href={toFind(source.name, { cell, is: "wrong" })} /></td>;
                  return <td class="number"><a href={toFind(source.name, { cell, ...filters })}>{figure(row.estimate, row.unit)}</a></td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {columns.some(([metric]) => metric === "accuracy") && <p class="faint small">Accuracy with its 95 % interval, drawn from {(100 * span[0]).toFixed(0)} to {(100 * span[1]).toFixed(0)} %; it leads to the debates that were wrong.</p>}
    </section>
  );
}

function Going({ rows }: { rows: Row[] }) {
  const done = rows.reduce((sum, row) => sum + row.debates.done, 0);
  const total = rows.reduce((sum, row) => sum + row.debates.total, 0);
  const left = rows.some((row) => row.seconds_left === null) ? null : rows.reduce((sum, row) => sum + row.seconds_left!, 0);
  const state = ["running", "failed", "stopped", "silent", "waiting"].find((word) => rows.some((row) => row.state === word)) ?? "done";
  return <><td class={`state ${state}`}>{state}</td><td class="number">{count(done)}/{count(total)}</td><td class="number">{count(rows.reduce((sum, row) => sum + (row.calls["asked"] ?? 0), 0))}</td><td class="number">{left ? duration(left) : ""}</td></>;
}

/** The stretch that all intervals of a table need, so that they can be told apart. */
function spanOf(rows: Metric[]): [number, number] {
  const ends = rows.flatMap((row) => [row.estimate, row.ci_low, row.ci_high]).filter((end): end is number => end !== null);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  return ends.length && high > low ? [low, high] : [0, 1];
}

function Interval({ row, href, span: [from, to] }: { row: Metric; href: string; span: [number, number] }) {
  if (row.estimate === null) return <>–</>;
  const at = (value: number) => 4 + (112 * (value - from)) / (to - from);
  const { ci_low: low, ci_high: high } = row;
  return (
    <span class="interval">
      <a href={href}>{figure(row.estimate, row.unit)}</a>
      <svg width="120" height="12" aria-hidden="true">
        <line class="scale" x1="4" x2="116" y1="6" y2="6" />
        {low !== null && high !== null && <line class="range" x1={at(low)} x2={at(high)} y1="6" y2="6" />}
        <circle class="point" cx={at(row.estimate)} cy="6" r="3.4" />
      </svg>
    </span>
  );
}

function Comparisons({ experiment }: { experiment: Experiment }) {
  const rows = experiment.comparisons.filter((row) => row.metric === "accuracy" || row.metric === "score");
  if (!rows.length) return null;
  const isMany = new Set(rows.map((row) => row.dataset)).size > 1;
  return (
    <section><h2>Where cells part</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Where cells part">
        <table>
          <thead><tr><th scope="col">Cell</th><th scope="col">Against</th>{isMany && <th scope="col">Dataset</th>}<th scope="col" class="number">Accuracy</th><th scope="col" class="number">Adjusted p</th><th scope="col">Debates</th></tr></thead>
          <tbody>
            {rows.map((row) => {
              const at = { dataset: row.dataset === "all" ? null : row.dataset };
              return (
                <tr>
                  <th scope="row">{row.cell}</th><td>{row.reference}</td>{isMany && <td>{row.dataset}</td>}
                  <td class="number"><a href={toFind(experiment.name, { ...at, apart: [row.cell, row.reference] })}>{figure(row.difference, "points")}</a></td>
                  <td class="number">{row.p_adjusted === null ? "–" : row.p_adjusted < 0.001 ? "< .001" : decimals(row.p_adjusted, 2)}</td>
                  <td><a href={toFind(experiment.name, { ...at, right: row.cell, wrong: row.reference })}>won</a> · <a href={toFind(experiment.name, { ...at, right: row.reference, wrong: row.cell })}>lost</a></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
