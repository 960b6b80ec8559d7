// One colour an answer, the same in every cell of a page; right answers have their own, and a mark says it again.
import type { Debate } from "./types";

export type Look = { className: string; mark: string; said: string };
export type Palette = (answer: string | null, worth: number | null | undefined) => Look;

const OTHERS = 5;

export function palette(debates: Debate[]): Palette {
  const worth = new Map<string, number>();
  const seen = new Map<string, number>();
  for (const { turns } of debates) {
    for (const turn of turns) {
      if (turn.answer === null || turn.reads !== "answer") continue;
      seen.set(turn.answer, (seen.get(turn.answer) ?? 0) + 1);
      if (turn.worth !== null) worth.set(turn.answer, turn.worth);
    }
  }
  const isRight = (answer: string) => (worth.has(answer) ? worth.get(answer)! >= 0.5 : null);
  const coloured = [...seen].filter(([answer]) => isRight(answer) !== true).sort((a, b) => b[1] - a[1]).map(([answer]) => answer);
  return (answer, given) => {
    if (answer === null) return { className: "a-none", mark: "?", said: "unreadable" };
    const right = given !== null && given !== undefined ? given >= 0.5 : isRight(answer);
    if (right === true) return { className: "a-right", mark: "✓", said: "right" };
    const place = coloured.indexOf(answer);
    const className = place >= 0 && place < OTHERS ? `a-${place}` : "a-other";
    return right === false ? { className, mark: "✗", said: "wrong" } : { className, mark: "", said: "" };
  };
}
