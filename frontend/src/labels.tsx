// Labels of a turn: those of the run, and those that a person gives it.
import { useState } from "preact/hooks";
import type { Opened } from "./loading";
import { Word } from "./text";
import type { Debate, Turn } from "./types";

/** What a label is called: its name where it holds, else its name and value. */
const named = (label: string, value: string | null) => (value === "yes" ? label : `${label}: ${value ?? "unreadable"}`);

export function Labels({ opened, debate, turn }: { opened: Opened; debate: Debate; turn: Turn }) {
  const { source, experiment } = opened;
  const given = debate.labels[turn.turn] ?? {};
  const [human, hold] = useState(debate.human[turn.turn] ?? {});
  const [fault, fail] = useState("");
  const put = async (label: string, value: string) => {
    try {
      debate.human = await source.label(debate.id, turn.turn, label, value);
      fail("");
    } catch (error) {
      fail((error as Error).message);
    }
    hold({ ...debate.human[turn.turn] });
  };
  const holding = Object.entries(given).filter(([, value]) => value !== "no");
  const mine = Object.entries(human);
  return (
    <>
      {holding.length > 0 && <p class="labels of-run">{holding.map(([label, value]) => <span class={`label ${value === null ? "no" : ""}`}><Word most={60}>{named(label, value)}</Word></span>)}</p>}
      {(mine.length > 0 || source.canLabel) && Object.keys(given).length > 0 && (
        <details class="fold labelling">
          <summary>{mine.length ? `your labels: ${mine.map(([label, value]) => named(label, value)).join(", ")}` : "label this turn"}</summary>
          {source.canLabel && Object.keys(given).map((label) => (
            <label class="field">{label}
              <select value={human[label] ?? ""} onChange={(event) => void put(label, event.currentTarget.value)}>
                <option value="">not labelled</option>
                {(experiment.labels[label] ?? []).map((value) => <option value={value} selected={value === human[label]}>{value}</option>)}
              </select>
            </label>
          ))}
          {fault && <p class="fault" role="alert">{fault}</p>}
        </details>
      )}
    </>
  );
}
