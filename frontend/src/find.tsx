// Debates, by what they are: filters in the address, rows drawn as they come into view.
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Address, go, toExperiment, toFind, toQuestion } from "./address";
import { type Filter, MARKS, type Mark, ORDERS, type Order, beside, filterOf, filtersOf } from "./debates";
import { useFound } from "./finding";
import type { Keys } from "./keys";
import type { Opened } from "./loading";
import { Word, count, many, short } from "./text";

const ROW = 46;

export function FindPage({ opened, at, keys }: { opened: Opened; at: Address; keys: Keys }) {
  const { source, experiment, debates, state } = opened;
  const filter = filterOf(at.query);
  const found = useFound(opened, filter);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [chosen, choose] = useState(0);
  const set = (changes: Partial<Filter>) => go(toFind(source.name, filtersOf({ ...filter, ...changes })), true);
  const address = toFind(source.name, filtersOf(filter));
  // Typed words become a filter once typing rests. Until then the box shows them, however often the page is drawn.
  const [typed, type] = useState<string | null>(null);
  const latest = useRef(set);
  latest.current = set;
  const search = () => {
    if (typed === null) return;
    latest.current({ text: typed });
    type((now) => (now === typed ? null : now)); // a letter may have come since
  };
  useLayoutEffect(() => {
    const timer = setTimeout(search, 180);
    return () => clearTimeout(timer);
  }, [typed]);
  useLayoutEffect(() => choose(0), [address]); // before a key moves it

  const linkOf = (row: number): string => {
    const { question, cell, replicate } = debates!.columns.debates;
    const [dataset, id] = debates!.columns.questions[question[row]!]!;
    const side = beside(filter);
    const cells = side.length > 1 ? side : side.length ? side : [debates!.columns.cells[cell[row]!]!];
    return toQuestion(source.name, dataset, id, { cell: cells, replicate: replicate[row]!, within: address.split("?")[1] ?? "" });
  };
  const move = (by: number) => {
    const next = Math.max(0, Math.min((found?.length ?? 1) - 1, chosen + by));
    choose(next);
    const view = list.current;
    if (!view) return;
    if (next * ROW < view.scrollTop) view.scrollTop = next * ROW;
    else if ((next + 1) * ROW > view.scrollTop + view.clientHeight) view.scrollTop = (next + 1) * ROW - view.clientHeight;
  };
  keys["j"] = keys["ArrowDown"] = ["next in the list", () => move(1)];
  keys["k"] = keys["ArrowUp"] = ["the one before", () => move(-1)];
  keys["Enter"] = ["open it", () => found?.[chosen] !== undefined && go(linkOf(found[chosen]!))];
  keys["/"] = ["search for words", () => box.current?.focus()];
  keys["x"] = ["no filter", () => go(toFind(source.name), true)];
  keys["Escape"] = keys["u"] = ["the experiment", () => go(toExperiment(source.name))];

  const cells = debates?.columns.cells ?? experiment.cells.map((cell) => cell.cell);
  const datasets = Object.keys(experiment.datasets);
  const unknown = [
    ...[...filter.cells, ...filter.apart, filter.right, filter.wrong].filter((name) => name && !cells.includes(name)).map((name) => `cell ${name}`),
    ...[filter.dataset].filter((name) => name && name !== "all" && !datasets.includes(name)).map((name) => `dataset ${name}`),
  ];
  const replicates = useMemo(() => [...new Set(debates?.columns.debates.replicate ?? [])].sort((a, b) => a - b), [debates]);
  const agents = [...new Set(experiment.cells.flatMap((cell) => cell.agents ?? []))];
  const sources = [...new Set([...(debates?.columns.sources ?? []), ...(filter.confidence ? [filter.confidence] : [])])];
  const labels = [...new Set([...Object.keys(debates?.columns.labels ?? {}), ...(filter.label ? [filter.label] : [])])];
  const outcomes = useMemo(() => debates?.outcomes() ?? new Set<string>(), [debates]);
  const marks = Object.entries(MARKS).filter(([mark]) => !debates?.columns.outcomes.includes(mark) || outcomes.has(mark) || filter.marks.includes(mark as Mark));
  const isApart = filter.apart.length === 2;
  const [first, second] = isApart ? filter.apart : [filter.right, filter.wrong];
  const pair = (one: string, two: string, way: boolean) =>
    way && one && two ? set({ apart: [one, two], right: "", wrong: "" }) : set({ apart: [], right: one, wrong: two });
  const isFiltered = address.includes("?");
  const questions = useMemo(() => new Set(found?.map((row) => debates!.columns.debates.question[row]!)).size, [found]);

  return (
    <main class="find">
      <nav class="trail" aria-label="Where this is"><a href={toExperiment(source.name)}>{experiment.name}</a> <span aria-hidden="true">/</span> debates</nav>
      <h1>Debates</h1>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div class="field wide"><label for="words">Words that were said</label>
          <input id="words" ref={box} type="search" value={typed ?? filter.text} placeholder="all of these words; beginnings will do" onInput={(event) => type(event.currentTarget.value)} onBlur={search} />
        </div>
        <Choice name="Cell" value={filter.cells.length === 1 ? filter.cells[0]! : filter.cells.length ? "several" : ""} all="every cell"
          values={[...cells, ...(filter.cells.length > 1 ? ["several"] : [])]} onChoose={(cell) => set({ cells: cell ? [cell] : [] })}
          shown={(value) => (value === "several" && filter.cells.length > 1 ? filter.cells.join(", ") : value)} />
        {datasets.length > 1 && <Choice name="Dataset" value={filter.dataset} all="every dataset" values={datasets} onChoose={(dataset) => set({ dataset })} />}
        {replicates.length > 1 && <Choice name="Replicate" value={filter.replicate ? `${filter.replicate}` : ""} all="every replicate" values={replicates.map(String)} onChoose={(one) => set({ replicate: Number(one) })} />}
        {agents.length > 1 && <Choice name="With agent" value={filter.agent} all="anybody" values={agents} onChoose={(agent) => set({ agent })} />}
        {sources.length > 1 && <Choice name="Confidence" value={filter.confidence} all="from anywhere" values={sources} onChoose={(confidence) => set({ confidence })} />}
        {labels.length > 0 && <Choice name="With label" value={filter.label} all="any or none" values={labels} onChoose={(label) => set({ label })} />}
        <Choice name="First" value={filter.sort} all={ORDERS[""]} values={Object.keys(ORDERS).filter(Boolean)} onChoose={(sort) => set({ sort: sort as Order })} shown={(sort) => ORDERS[sort as Order]} />
        <fieldset class="apart"><legend>Where two cells part</legend>
          <Choice name={isApart ? "One" : "Right"} value={first ?? ""} all="…" values={cells} onChoose={(cell) => pair(cell, second ?? "", isApart)} />
          <Choice name={isApart ? "The other" : "Wrong"} value={second ?? ""} all="…" values={cells} onChoose={(cell) => pair(first ?? "", cell, isApart)} />
          <label class="check"><input type="checkbox" checked={isApart} disabled={!first || !second} onChange={() => pair(first ?? "", second ?? "", !isApart)} /> either way</label>
        </fieldset>
        <fieldset class="chips"><legend>Debates that are</legend>
          {marks.map(([mark, said]) => {
            const isOn = filter.marks.includes(mark as Mark);
            const marks = isOn ? filter.marks.filter((one) => one !== mark) : [...filter.marks, mark as Mark];
            return <label class={`chip ${isOn ? "on" : ""}`}><input type="checkbox" checked={isOn} onChange={() => set({ marks })} /><span>{said}</span></label>;
          })}
        </fieldset>
      </form>
      <p class="count" role="status">
        {!debates ? "Reading…" : !found ? "Searching…" : <>{many(found.length, "debate")} of {count(debates.count)}{found.length > 0 && <>, on {many(questions, "question")}</>}</>}
        {!state.index.is_ready && debates && " (the index is still being made)"}
        {isFiltered && <a class="clear" href={toFind(source.name)}>no filter</a>}
        {filter.question && <span class="faint"> only question {filter.question}</span>}
      </p>
      {debates && found && found.length > 0 && <Rows opened={opened} rows={found} linkOf={linkOf} chosen={chosen} view={list} sort={filter.sort} />}
      {debates && found?.length === 0 && <p class="faint">No debate is all of that.{unknown.length > 0 && ` This experiment has no ${unknown.join(", no ")}.`} <a href={toFind(source.name)}>All debates</a></p>}
    </main>
  );
}

function Choice({ name, value, all, values, onChoose, shown = (one) => one }: {
  name: string; value: string; all: string; values: string[]; onChoose: (value: string) => void; shown?: (value: string) => string;
}) {
  const id = useId();
  return (
    <div class="field"><label for={id}>{name}</label>
      <select id={id} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        <option value="">{all}</option>
        {values.map((one) => <option value={one} selected={one === value}>{shown(one)}</option>)}
      </select>
    </div>
  );
}

function Rows({ opened, rows, linkOf, chosen, view, sort }: {
  opened: Opened; rows: number[]; linkOf: (row: number) => string; chosen: number; view: { current: HTMLDivElement | null }; sort: Order;
}) {
  const [top, scroll] = useState(0);
  const [room, measure] = useState(600);
  const { columns } = opened.debates!;
  const { question, cell, replicate, answer, rounds, to_right, to_wrong, persuaded, flips } = columns.debates;
  const isManyDatasets = Object.keys(opened.experiment.datasets).length > 1;
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const last = Math.min(rows.length, Math.ceil((top + room) / ROW) + 4);
  useEffect(() => {
    const sized = () => measure(view.current?.clientHeight ?? 600);
    sized();
    addEventListener("resize", sized);
    return () => removeEventListener("resize", sized);
  }, []);
  return (
    <div class="rows" ref={view} tabIndex={0} role="region" aria-label="Debates found" onScroll={(event) => scroll(event.currentTarget.scrollTop)}>
      <ol style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(first, last).map((row, place) => {
          const isRight = opened.debates!.isRight(row);
          const [dataset, id, text] = columns.questions[question[row]!]!;
          const at = first + place;
          const extra = { persuasive: many(persuaded[row]!, "answer taken over", "answers taken over"), tokens: `${short(opened.debates!.tokens(row))} tokens`, flips: many(flips[row]!, "change"), rounds: many(rounds[row]!, "round"), "": `${short(opened.debates!.tokens(row))} tok` }[sort];
          return (
            <li key={row} class={at === chosen ? "chosen" : ""} aria-setsize={rows.length} aria-posinset={at + 1} style={{ top: `${at * ROW}px` }}>
              <a href={linkOf(row)} aria-current={at === chosen ? "true" : undefined}>
                <span class={`verdict ${isRight === null ? "" : isRight ? "yes" : "no"}`} role="img" aria-label={isRight === null ? "not scored" : isRight ? "right" : "wrong"}>{isRight === null ? "·" : isRight ? "✓" : "✗"}</span>
                <span class="what"><b><Word most={48}>{isManyDatasets ? `${dataset}/${id}` : id}</Word></b> <span class="faint"><Word most={120}>{text}</Word></span></span>
                <span class="where">{columns.cells[cell[row]!]} <span class="faint">·{replicate[row]}</span></span>
                <span class="got">{answer[row]! < 0 ? <i>no answer</i> : <Word most={30}>{columns.answers[answer[row]!]!}</Word>}</span>
                <span class="flips" title={`${to_right[row]} changed to right, ${to_wrong[row]} to wrong`}>{to_right[row]! > 0 && <span class="yes">↑{to_right[row]}</span>} {to_wrong[row]! > 0 && <span class="no">↓{to_wrong[row]}</span>}</span>
                <span class="cost faint">{extra}</span>
              </a>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
