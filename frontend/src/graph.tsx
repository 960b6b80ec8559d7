// Who heard whom: a row an agent, a column an execution of a step, a line from what was said to who heard it.
import { useState } from "preact/hooks";
import type { Palette } from "./answers";
import type { Debate, Graph, Turn } from "./types";
import { decimals } from "./text";

const ROW = 30;
const GAP = 76;
const TOP = 22;
const R = 9.5;

type Spot = { turn: Turn; x: number; y: number; r: number };

/** The graph of a turn's step: those of one step in one round are in the order of speaking. */
function graphOf(debate: Debate, turn: Turn): Graph | undefined {
  const isSame = (one: { round: number; step: string }) => one.round === turn.round && one.step === turn.step;
  const times = [...new Set(debate.turns.filter(isSame).map((one) => one.execution))];
  return debate.graphs.filter(isSame)[times.indexOf(turn.execution)];
}

export function weightOf(debate: Debate, speaker: string, turn: Turn): number | null {
  const graph = graphOf(debate, turn);
  const from = graph?.speakers.indexOf(speaker) ?? -1;
  const to = graph?.listeners.indexOf(turn.speaker) ?? -1;
  return from < 0 || to < 0 ? null : graph!.weight?.[from]?.[to] ?? null;
}

export type Heads = { of: (turn: Turn) => string; short: (turn: Turn) => string };

/** What the executions of steps are called, no two alike: by their rounds alone where one step has one each after the opening. */
export function headings(debate: Debate): Heads {
  const executions = [...Map.groupBy(debate.turns, (turn) => turn.execution).values()].map((turns) => turns[0]!);
  const steps = new Set(executions.filter((turn) => turn.round > 0).map((turn) => turn.step));
  const isRoundEnough = steps.size <= 1 && new Set(executions.map((turn) => turn.round)).size === executions.length;
  const before = (turn: Turn) => executions.filter((one) => one.round === turn.round && one.step === turn.step && one.execution < turn.execution).length;
  const time = (turn: Turn) => (before(turn) ? ` (time ${before(turn) + 1})` : "");
  const round = (turn: Turn) => (turn.round === 0 ? "opening" : `round ${turn.round}`);
  return {
    of: (turn) => (isRoundEnough ? round(turn) : `${round(turn)} · ${turn.step}${time(turn)}`),
    short: (turn) => (isRoundEnough ? (turn.round === 0 ? "opening" : `${turn.round}`) : turn.step.slice(0, 11)),
  };
}

function layout(debate: Debate): { spots: Map<number, Spot>; agents: string[]; columns: Turn[]; left: number; start: number } {
  const agents = [...new Set([...debate.agents.map((agent) => agent.name), ...debate.turns.map((turn) => turn.speaker)])]
    .filter((name) => debate.turns.some((turn) => turn.speaker === name));
  const columns: Turn[] = [];
  for (const turn of debate.turns) if (!columns.some((one) => one.execution === turn.execution)) columns.push(turn);
  const left = Math.min(120, 14 + 6.6 * Math.max(...agents.map((name) => [...name].length), 3));
  const spots = new Map<number, Spot>();
  const together = Map.groupBy(debate.turns, (turn) => `${turn.execution} ${turn.speaker}`);
  const isCrowded = [...together.values()].some((turns) => turns.length > 1); // several turns of one agent in one step
  const start = left + (isCrowded ? GAP / 2 : 22);
  for (const turns of together.values()) {
    const step = Math.min(2 * R + 2, (GAP - 22) / turns.length);
    turns.forEach((turn, place) => {
      const x = start + columns.findIndex((one) => one.execution === turn.execution) * GAP;
      const r = turns.length > 1 ? Math.max(3.5, Math.min(R, step / 2)) : R;
      spots.set(turn.turn, { turn, r, x: x + (place - (turns.length - 1) / 2) * step, y: TOP + ROW / 2 + agents.indexOf(turn.speaker) * ROW });
    });
  }
  return { spots, agents, columns, left, start };
}

function curve(from: Spot, to: Spot): string {
  const middle = (from.x + to.x) / 2;
  if (to.x - from.x < 2 * R) { // spoken one after the other in one step
    const out = from.x + 26;
    return `M${from.x} ${from.y}C${out} ${from.y} ${out} ${to.y} ${to.x} ${to.y}`;
  }
  return `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
}

export function DebateGraph({ debate, colour, chosen, onChoose }: {
  debate: Debate; colour: Palette; chosen: number | null; onChoose: (turn: number) => void;
}) {
  const [over, hover] = useState<number | null>(null);
  const { spots, agents, columns, left, start } = layout(debate);
  if (!columns.length) return null;
  const width = 2 * start - left + 2 + (columns.length - 1) * GAP;
  const height = TOP + agents.length * ROW + 4;
  const heads = headings(debate);
  const shown = over ?? chosen;
  const lines: preact.JSX.Element[] = [];
  const lives: preact.JSX.Element[] = [];
  for (const spot of spots.values()) {
    const { turn } = spot;
    const said = turn.heard.filter((number) => debate.turns[number]!.speaker !== turn.speaker);
    const weights = said.map((number) => weightOf(debate, debate.turns[number]!.speaker, turn));
    const most = Math.max(...weights.map((weight) => weight ?? 0), 1e-12);
    said.forEach((number, place) => {
      const from = spots.get(number)!;
      const weight = weights[place] ?? null;
      const isOn = shown === null ? null : shown === turn.turn || shown === number;
      const look = colour(from.turn.answer, from.turn.worth);
      lines.push(
        <path d={curve(from, spot)} class={`edge ${look.className} ${isOn === null ? "" : isOn ? "on" : "off"}`}
          style={{ strokeWidth: `${(weight === null ? 1.6 : 0.7 + 3.2 * Math.max(0, weight) / most).toFixed(2)}px` }} />,
      );
    });
    const before = debate.turns.slice(0, turn.turn).findLast((one) => one.speaker === turn.speaker && one.execution !== turn.execution);
    if (before) lives.push(<path class="life" d={`M${spots.get(before.turn)!.x} ${spots.get(before.turn)!.y}L${spot.x} ${spot.y}`} />);
  }
  const order = debate.turns.map((turn) => turn.turn);
  const focused = chosen !== null && spots.has(chosen) ? chosen : order[0]!;

  function moved(event: KeyboardEvent, turn: Turn): void {
    const here = spots.get(turn.turn)!;
    const near = (ok: (spot: Spot) => boolean, far: (spot: Spot) => number) =>
      [...spots.values()].filter(ok).sort((a, b) => far(a) - far(b))[0];
    const next = {
      ArrowRight: () => near((s) => s.x > here.x + 0.5, (s) => s.x - here.x + 3 * Math.abs(s.y - here.y)),
      ArrowLeft: () => near((s) => s.x < here.x - 0.5, (s) => here.x - s.x + 3 * Math.abs(s.y - here.y)),
      ArrowDown: () => near((s) => s.y > here.y + 0.5, (s) => 3 * Math.abs(s.x - here.x) + s.y - here.y),
      ArrowUp: () => near((s) => s.y < here.y - 0.5, (s) => 3 * Math.abs(s.x - here.x) + here.y - s.y),
    }[event.key];
    if (event.key === "Enter" || event.key === " ") onChoose(turn.turn);
    else if (next) {
      const found = next();
      const group = (event.currentTarget as Element).parentElement;
      if (found) (group?.querySelector(`[data-turn="${found.turn.turn}"]`) as SVGElement | null)?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <div class="graph">
      <svg viewBox={`0 0 ${width} ${height}`} style={{ maxWidth: `${width * 1.05}px`, minWidth: `${width * 0.85}px` }} role="group"
        aria-label={`Who heard whom in ${debate.cell}: ${agents.length} agents, ${columns.length} steps. Arrow keys move, Enter goes to the words.`}>
        {columns.map((turn, place) => (
          <text class="step" x={start + place * GAP} y={12}>{heads.short(turn)}</text>
        ))}
        {agents.map((name, place) => (
          <text class="agent" x={left - 4} y={TOP + ROW / 2 + place * ROW + 4}>{[...name].length > 16 ? `${[...name].slice(0, 15).join("")}…` : name}</text>
        ))}
        {lives}
        {lines}
        {[...spots.values()].map(({ turn, x, y, r }) => {
          const isAnswer = turn.reads === "answer";
          const look = isAnswer ? colour(turn.answer, turn.worth) : { className: "a-talk", mark: "", said: turn.reads };
          const from = turn.heard.map((number) => debate.turns[number]!.speaker).filter((name) => name !== turn.speaker);
          const label = `${turn.speaker}, ${heads.of(turn)}: ${isAnswer ? turn.answer ?? "unreadable" : turn.reads} ${look.said}${from.length ? `, having heard ${from.join(", ")}` : ""}`;
          return (
            <g class={`spot ${look.className} ${chosen === turn.turn ? "chosen" : ""}`} data-turn={turn.turn} role="button"
              tabIndex={turn.turn === focused ? 0 : -1} aria-label={label} onClick={() => onChoose(turn.turn)}
              onKeyDown={(event) => moved(event, turn)} onMouseEnter={() => hover(turn.turn)} onMouseLeave={() => hover(null)}
              onFocus={() => hover(turn.turn)} onBlur={() => hover(null)}>
              <title>{label}{turn.confidence !== null ? `, confidence ${decimals(turn.confidence)}` : ""}</title>
              <circle class="reach" cx={x} cy={y} r={Math.max(r, 12)} />
              {isAnswer ? <circle class="face" cx={x} cy={y} r={r} /> : <rect class="face" x={x - r * 0.7} y={y - r * 0.7} width={r * 1.4} height={r * 1.4} rx={2} />}
              {r > 6 && <text class="mark" x={x} y={y + 3.8}>{look.mark}</text>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
