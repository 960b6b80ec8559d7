// One question, its cells side by side.
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { type Address, go, toExperiment, toFind, toQuestion } from "./address";
import { palette, type Palette } from "./answers";
import { Changes } from "./changes";
import { beside, filterOf } from "./debates";
import { DebateGraph, headings } from "./graph";
import type { Keys } from "./keys";
import { Labels } from "./labels";
import { type Opened, useLater } from "./loading";
import { useFound } from "./finding";
import { wordsOf } from "./source";
import { Text, Word, count, decimals, many } from "./text";
import { Answer, Said, spot, tokensOf } from "./turn";
import type { Choice, Debate, Fault, Question } from "./types";

const FIRST = 3; // cells side by side where nobody has chosen
const ENDS: Record<string, string> = { consensus: "consensus", agreed: "the judge agreed", rounds: "end of schedule", condition: "its condition held" };

export function QuestionPage({ opened, at, keys }: { opened: Opened; at: Address; keys: Keys }) {
  const { source, experiment, debates } = opened;
  const [, , , dataset = "", id = ""] = at.path;
  const within = at.query.get("within");
  const filter = filterOf(new URLSearchParams(within ?? ""));
  const found = useFound(opened, filter);
  const code = debates?.question(dataset, id) ?? -1;
  const replicates = debates && code >= 0 ? debates.replicates(code) : [];
  const replicate = Number(at.query.get("replicate")) || replicates[0] || 1;
  const all = debates ? debates.columns.cells.filter((_, cell) => debates.at(code, cell, replicate) >= 0) : [];
  const named = [...new Set(at.query.getAll("cell"))].filter((cell) => all.includes(cell));
  const cells = named.length ? named : all.slice(0, FIRST);
  const rows = debates ? cells.map((cell) => debates.at(code, debates.cell(cell), replicate)) : [];
  const ids = debates ? rows.map((row) => debates.columns.debates.id[row]!) : [];
  const key = `${source.name} ${dataset} ${id} ${ids.join(",")}`;
  const shown = useLater(key, async () => ({
    question: code < 0 ? null : await source.question(dataset, id, code),
    debates: await Promise.all(ids.map((one) => source.debate(one, code))),
  }));
  const [chosen, choose] = useState<string>("");
  const [isBlind, hide] = useState(false);
  useLayoutEffect(() => choose(""), [key]); // before a key chooses

  const to = (changes: { cells?: string[]; replicate?: number; dataset?: string; id?: string }) =>
    toQuestion(source.name, changes.dataset ?? dataset, changes.id ?? id, {
      cell: changes.cells ?? cells, replicate: changes.replicate ?? replicate, within,
    });
  const steps = useMemo(() => (debates && found ? debates.steps(found) : []), [debates, found]);
  const place = steps.findIndex(([question, repetition]) => question === code && repetition === replicate);
  const stepTo = (by: number): string | null => {
    const next = place < 0 ? (by > 0 ? steps[0] : undefined) : steps[place + by];
    if (!debates || !next) return null;
    const [nextDataset, nextId] = debates.columns.questions[next[0]]!;
    const own = debates.columns.cells[debates.columns.debates.cell[next[2]]!]!;
    const isFixed = beside(filter).length > 0 || cells.includes(own) || !within;
    return to({ dataset: nextDataset, id: nextId, replicate: next[1], cells: isFixed ? cells : [own] });
  };
  const [before, after] = [stepTo(-1), stepTo(1)];
  useEffect(() => { // the next one is asked for before it is wanted
    const next = place >= 0 ? steps[place + 1] : undefined;
    if (debates && next) for (const cell of cells) {
      const row = debates.at(next[0], debates.cell(cell), next[1]);
      if (row >= 0) void source.debate(debates.columns.debates.id[row]!, next[0]).catch(() => undefined);
    }
  }, [key, place]);

  const turned = (by: number) => {
    const next = replicates[replicates.indexOf(replicate) + by];
    if (next !== undefined) go(to({ replicate: next }), true);
  };
  const toggled = (cell: string) => {
    const now = cells.includes(cell) ? cells.filter((one) => one !== cell) : all.filter((one) => cells.includes(one) || one === cell);
    if (now.length) go(to({ cells: now }), true);
  };
  const back = toFind(source.name, within === null ? {} : Object.fromEntries([...new URLSearchParams(within).keys()].map((name) => [name, new URLSearchParams(within).getAll(name)])));
  keys["j"] = keys["ArrowRight"] = ["next question", () => after && go(after)];
  keys["k"] = keys["ArrowLeft"] = ["question before", () => before && go(before)];
  keys["]"] = ["next replicate", () => turned(1)];
  keys["["] = ["replicate before", () => turned(-1)];
  keys["u"] = keys["Escape"] = ["back to the list", () => go(back)];
  all.slice(0, 9).forEach((cell, number) => { keys[`${number + 1}`] = ["show or hide a cell, by its place", () => toggled(cell)]; });

  const read = shown.value?.debates.filter((one): one is Debate => "turns" in one) ?? [];
  const colour = palette(read.flatMap(stagesOf));
  const words = wordsOf(filter.text);
  if (debates && code < 0) return <main><p class="fault">No debate of this experiment has a question “<Word>{id}</Word>” of {dataset}. <a href={toFind(source.name)}>All debates</a></p></main>;
  const isCurrent = shown.key === key;

  return (
    <main class={`question ${isBlind ? "blind" : ""}`} aria-busy={!isCurrent} data-shown={shown.key}>
      <nav class="trail" aria-label="Where this is">
        <a href={toExperiment(source.name)}>{experiment.name}</a> <span aria-hidden="true">/</span>{" "}
        <a href={back}>{within ? `${count(steps.length)} found` : "all debates"}</a>
        <span class="stepping">
          <a class={before ? "button" : "button off"} href={before ?? undefined} aria-label="Question before" aria-disabled={!before}>←</a>
          <span class="faint">{place >= 0 ? `${count(place + 1)} of ${count(steps.length)}` : ""}</span>
          <a class={after ? "button" : "button off"} href={after ?? undefined} aria-label="Next question" aria-disabled={!after}>→</a>
        </span>
      </nav>
      <h1 class="asked-id"><Word most={120}>{id}</Word></h1>
      {shown.error && <p class="fault">{shown.error}</p>}
      {shown.value && <Asked question={shown.value.question} why={experiment.unknown_questions} />}
      <div class="choices">
        <fieldset class="chips"><legend>Cells</legend>
          {all.map((cell) => {
            const isRight = debates!.isRight(debates!.at(code, debates!.cell(cell), replicate));
            return (
              <label class={`chip ${cells.includes(cell) ? "on" : ""}`}>
                <input type="checkbox" checked={cells.includes(cell)} onChange={() => toggled(cell)} />
                <span class={isRight === null ? "" : isRight ? "yes" : "no"} aria-label={isRight === null ? "" : isRight ? "right" : "wrong"} role="img">{isRight === null ? "·" : isRight ? "✓" : "✗"}</span> {cell}
              </label>
            );
          })}
        </fieldset>
        {replicates.length > 1 && (
          <fieldset class="chips"><legend>Replicate</legend>
            {replicates.map((one) => (
              <label class={`chip ${one === replicate ? "on" : ""}`}>
                <input type="radio" name="replicate" checked={one === replicate} onChange={() => go(to({ replicate: one }), true)} /> {one}
              </label>
            ))}
          </fieldset>
        )}
        {Object.keys(experiment.labels).length > 0 && (
          <fieldset class="chips"><legend>Labels</legend>
            <label class={`chip ${isBlind ? "on" : ""}`}><input type="checkbox" checked={isBlind} onChange={() => hide(!isBlind)} /> hide those of the run</label>
            {source.canLabel && <span class="faint">yours are in <code>{experiment.human_labels}</code></span>}
          </fieldset>
        )}
      </div>
      <div class="cells" tabIndex={0} role="region" aria-label="Cells side by side">
        {(shown.value?.debates ?? []).map((debate) => (
          <Cell key={debate.id} opened={opened} debate={debate} question={code} colour={colour} words={words}
            chosen={chosen} onChoose={(id) => { choose(id); reveal(id); }} />
        ))}
      </div>
    </main>
  );
}

function reveal(id: string): void {
  const found = document.getElementById(id);
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  found?.scrollIntoView({ behavior: isStill ? "instant" : "smooth", block: "center", inline: "nearest" });
  found?.focus({ preventScroll: true });
}

function Asked({ question, why }: { question: Question; why: string }) {
  if (!question) return <p class="faint asked">The question's text is in the prompts below{why && <> ({why})</>}.</p>;
  return (
    <section class="asked" aria-label="The question">
      {question.context && <details class="fold"><summary>its passage ({count(question.context.length)} characters)</summary><Text what="passage">{question.context}</Text></details>}
      {question.images.map((image, place) => (
        <figure class="pictured">
          {image.uri && <img src={image.uri} alt={`Image ${place + 1} of the question`} />}
          {image.why && <p class="fault">{image.why}</p>}
          <figcaption class="faint"><code title={image.digest}>{image.digest.slice(0, 12)}</code></figcaption>
        </figure>
      ))}
      <Text>{question.text}</Text>
      {question.options.length > 0 && <ol class="options">{question.options.map(([label, text]) => <li><b>{label}</b> <Word most={400}>{text}</Word></li>)}</ol>}
      {question.gold.length > 0 && <p class="gold">Gold answer: {question.gold.map((one, place) => <>{place ? " or " : ""}<span class="answer a-right"><span class="sign" aria-hidden="true">✓</span>{one === "" ? <i>empty</i> : <Word>{one}</Word>}</span></>)}</p>}
    </section>
  );
}

function Cell({ opened, debate, question, colour, words, chosen, onChoose }: {
  opened: Opened; debate: Debate | Fault; question: number; colour: Palette; words: string[];
  chosen: string; onChoose: (id: string) => void;
}) {
  if (!("turns" in debate)) {
    const row = opened.debates?.columns.debates.id.indexOf(debate.id) ?? -1;
    return <section class="cell"><h2>{row >= 0 ? opened.debates!.columns.cells[opened.debates!.columns.debates.cell[row]!] : ""}</h2><p class="fault">{debate.fault}</p></section>;
  }
  const { experiment } = opened;
  const stages = stagesOf(debate);
  const tokens = stages.flatMap((one) => one.turns).reduce((sum, turn) => sum + tokensOf(turn)[0] + tokensOf(turn)[1], 0);
  const show = `cortexdsl show ${quoted(experiment.root)} --question ${quoted(debate.question)} --cell ${quoted(debate.cell)} --replicate ${debate.replicate}`;
  return (
    <section class="cell" aria-label={debate.cell}>
      <header class="cell-head">
        <h2><Word most={60}>{debate.cell}</Word></h2>
        <Answer answer={debate.answer} worth={debate.score} colour={colour} />
      </header>
      <p class="faint facts">
        {[
          stages.length === 1 ? ended(debate) : <>answered by <b><Word most={60}>{stages.at(-2)!.deferred!.to}</Word></b></>, `${count(tokens)} tokens`,
          debate.wording > 0 && `wording ${debate.wording}`, debate.guided && "guided: an agent was told the gold answer",
        ].filter(Boolean).map((part, place) => <>{place ? " · " : ""}{part}</>)}
        {stages.length === 1 && <Votes debate={debate} />}
      </p>
      {stages.map((one, number) => (
        <StageOf key={number} stage={number} name={number ? stages[number - 1]!.deferred!.to : debate.cell} isAlone={stages.length === 1}
          opened={opened} debate={one} question={question} colour={colour} words={words} chosen={chosen} onChoose={onChoose} />
      ))}
      <footer class="faint">
        <p>Record: <code>{debate.where}</code></p>
        <Command text={show} />
        {experiment.spec && <Command text={`cortexdsl replay ${quoted(experiment.spec)}`} />}
      </footer>
    </section>
  );
}

/** A debate, and those that its question was handed on to, in order. */
function stagesOf(debate: Debate): Debate[] {
  return [debate, ...(debate.deferred ? stagesOf({ ...debate, ...debate.deferred.debate }) : [])];
}

function ended(debate: Debate): string {
  return [many(debate.rounds, "round"), ENDS[debate.stop] ?? debate.stop, debate.tied && "tied"].filter(Boolean).join(" · ");
}

function Votes({ debate }: { debate: Debate }) {
  if (!debate.votes.length) return null;
  return <><br />votes: {debate.votes.map(([answer, weight], place) => <>{place ? ", " : ""}<Word most={30}>{answer}</Word> × <b>{decimals(weight)}</b></>)}</>;
}

/** One debate about the question. Where the question was handed on there are several, each with its name, its answer and why it went on. */
function StageOf({ stage, name, isAlone, opened, debate, question, colour, words, chosen, onChoose }: {
  stage: number; name: string; isAlone: boolean; opened: Opened; debate: Debate; question: number; colour: Palette; words: string[];
  chosen: string; onChoose: (id: string) => void;
}) {
  const rounds = [...Map.groupBy(debate.turns, (turn) => turn.execution).values()];
  const heads = headings(debate);
  const toTurn = (turn: number) => onChoose(spot(debate, stage, turn));
  const here = debate.turns.find((turn) => spot(debate, stage, turn.turn) === chosen);
  const { deferred } = debate;
  return (
    <>
      {!isAlone && (
        <div class="stage">
          <h3><Word most={60}>{name}</Word> <Answer answer={debate.own} worth={debate.own_worth} colour={colour} /></h3>
          <p class="faint facts">
            {ended(debate)}<Votes debate={debate} />
            <br />{deferred
              ? <>{debate.sure === null ? "how sure it was is unknown" : `sure to ${decimals(debate.sure)}`}{deferred.below === null ? "; its condition held" : `, not to ${decimals(deferred.below)}`}: handed on to <Word most={60}>{deferred.to}</Word></>
              : "gave the answer"}
          </p>
        </div>
      )}
      <DebateGraph debate={debate} colour={colour} chosen={here?.turn ?? null} onChoose={toTurn} />
      <Changes debate={debate} colour={colour} onChoose={toTurn} />
      {rounds.map((turns) => (
        <div class="round">
          <Chosen debate={debate} before={turns[0]!.turn} />
          <h3>{heads.of(turns[0]!)}</h3>
          {turns.map((turn) => (
            <Said key={turn.turn} source={opened.source} debate={debate} stage={stage} question={question} turn={turn} colour={colour} words={words} isChosen={here === turn}>
              {stage === 0 && <Labels opened={opened} debate={debate} turn={turn} />}
            </Said>
          ))}
        </div>
      ))}
      <Chosen debate={debate} before={debate.turns.length} />
    </>
  );
}

/** Who was chosen for what before a turn was spoken, and who was not, with what they weighed. */
function Chosen({ debate, before }: { debate: Debate; before: number }) {
  return <>{debate.choices.filter((choice) => choice.turn === before).map((choice) => <ChosenFor choice={choice} />)}</>;
}

function ChosenFor({ choice }: { choice: Choice }) {
  const named = choice.candidates.map((name, place) => ({ name, weight: choice.weight[place] ?? null, isIn: choice.chosen.includes(name) }));
  const list = (some: typeof named) => some.map(({ name, weight }, place) => <>{place ? ", " : ""}<Word most={30}>{name}</Word>{weight !== null && <span class="weight" title="weight of the choice"> {decimals(weight, 2)}</span>}</>);
  const [chosen, others] = [named.filter((one) => one.isIn), named.filter((one) => !one.isIn)];
  return (
    <p class="chosen-for">
      chosen as <b><Word most={30}>{choice.role}</Word></b>: {chosen.length ? list(chosen) : "nobody"}
      {others.length > 0 && <span class="faint"> · not: {list(others)}</span>}
    </p>
  );
}

function Command({ text }: { text: string }) {
  const [isCopied, copied] = useState(false);
  const copy = () => navigator.clipboard?.writeText(text).then(() => { copied(true); setTimeout(() => copied(false), 1500); }, () => undefined);
  return <p class="command"><code>{text}</code> <button class="quiet" type="button" onClick={copy}>{isCopied ? "copied" : "copy"}</button></p>;
}

/** A word for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
