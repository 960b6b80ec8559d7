// Who changed to what after hearing whom, with the words that were heard.
import type { Palette } from "./answers";
import { Answer } from "./turn";
import { Word } from "./text";
import type { Change, Debate, Turn } from "./types";

const EXCERPT = 280;

/** The end of what was said, where answers stand, on one line. */
function excerpt(turn: Turn): string {
  const line = turn.text.slice(-8 * EXCERPT).replace(/\s+/g, " ").trim();
  return line.length > EXCERPT ? `…${line.slice(-EXCERPT)}` : line;
}

function kind(change: Change): string {
  if (change.was_right === null) return "";
  if (change.is_right && !change.was_right) return "to-right";
  return change.was_right && !change.is_right ? "to-wrong" : "";
}

export function Changes({ debate, colour, onChoose }: { debate: Debate; colour: Palette; onChoose: (turn: number) => void }) {
  if (!debate.changes.length) {
    const isTalk = debate.turns.some((turn) => turn.heard.length);
    return <p class="faint changes-none">{isTalk ? "Nobody changed their answer." : "Nobody heard anybody."}</p>;
  }
  return (
    <ol class="changes" aria-label="Who changed to what">
      {debate.changes.map((change) => {
        const before = debate.turns[change.before]!;
        const after = debate.turns[change.after]!;
        const others = [...new Set(after.heard.map((number) => debate.turns[number]!.speaker))].filter((name) => name !== change.agent);
        const source = change.followed.map((number) => debate.turns[number]!);
        return (
          <li class={kind(change)}>
            <button type="button" class="change" onClick={() => onChoose(change.after)}>
              <span class="round">{change.round}</span> <b><Word most={24}>{change.agent}</Word></b>{" "}
              <Answer answer={before.answer} worth={before.worth} colour={colour} /> <span aria-label="to">→</span>{" "}
              <Answer answer={after.answer} worth={after.worth} colour={colour} />
              <span class="faint">
                {others.length === 0 ? " having heard nobody" : change.heard.length === 0 ? ` having heard ${others.join(", ")}` : source.length ? " which was said by " : " which nobody it heard had said"}
                {source.map((turn, place) => <>{place ? ", " : ""}<Word most={24}>{turn.speaker}</Word></>)}
              </span>
            </button>
            {source[0] && (
              <button type="button" class="quote" onClick={() => onChoose(source[0]!.turn)} title={`what ${source[0].speaker} had said: go there`}>
                <Word most={EXCERPT + 2}>{excerpt(source[0])}</Word>
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}
