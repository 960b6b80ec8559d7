// A model's words are data: text nodes alone, and what cannot be seen is written out.
import { useMemo, useState } from "preact/hooks";
import type { Unit } from "./types";
import type { ComponentChildren } from "preact";

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ue000-\uf8ff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;
const FOLD = 900;
const STEP = 60_000;

function named(hidden: string): string {
  return hidden === "\0" ? "NUL" : `U+${hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

function Seen({ text }: { text: string }) {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, found.index), <span class="hidden" title="a character that cannot be seen">{named(found[0])}</span>);
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return <>{parts}</>;
}

function marked(text: string, words: string[]): ComponentChildren {
  if (!words.length) return <Seen text={text} />;
  const sought = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|"), "giu");
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(sought)) {
    if (!found[0]) continue;
    parts.push(<Seen text={text.slice(from, found.index)} />, <mark><Seen text={found[0]} /></mark>);
    from = found.index + found[0].length;
    if (parts.length > 400) break;
  }
  parts.push(<Seen text={text.slice(from)} />);
  return parts;
}

/** A short text in a line: an answer, a name. */
export function Word({ children, most = 80 }: { children: string; most?: number }) {
  const line = children.slice(0, most * 4).replace(/\s+/g, " ");
  const shown = line.length > most ? `${line.slice(0, most - 1)}…` : line;
  return <bdi class="word" title={line.length > most ? line : undefined}><Seen text={shown} /></bdi>;
}

/** A long text as it was said: folded where it is long, in pieces where it is huge. */
export function Text({ children: text, words = [], what = "words" }: { children: string; words?: string[]; what?: string }) {
  const [shown, show] = useState(text.length > FOLD * 1.3 ? FOLD : text.length);
  const left = text.length - shown;
  const body = useMemo(() => marked(text.slice(0, shown), words), [text, shown, words.join(" ")]);
  return (
    <div class="said">
      <div class="words" dir="auto">{body}{left > 0 ? "…" : ""}</div>
      {left > 0 && (
        <button class="quiet" type="button" onClick={() => show(Math.min(text.length, shown + STEP))}>
          {left > STEP ? `${STEP.toLocaleString("en")} more characters of ${left.toLocaleString("en")}` : `the rest of these ${what} (${left.toLocaleString("en")} characters)`}
        </button>
      )}
    </div>
  );
}

const REASONING = /^\s*<think(?:ing)?>([\s\S]*?)<\/think(?:ing)?>\s*/i;

/** Reasoning that a reply begins with, apart from the reply. */
export function reasoningIn(text: string): [string, string] {
  const found = text.length < 5_000_000 ? REASONING.exec(text) : null;
  return found ? [found[1]!.trim(), text.slice(found[0].length)] : ["", text];
}

export function count(number: number): string {
  return number.toLocaleString("en");
}

export function many(number: number, one: string, others = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : others}`;
}

export function short(number: number): string {
  if (number < 10_000) return count(Math.round(number));
  return number < 1e6 ? `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)}k` : `${(number / 1e6).toFixed(1)}M`;
}

/** A p-value as the report writes it: `p = .088`, `p < .001`. */
export function probability(p: number): string {
  return p < 0.001 ? "p < .001" : `p = ${p.toFixed(3).replace(/^0/, "")}`;
}

export function decimals(number: number | null | undefined, digits = 3): string {
  if (number === null || number === undefined) return "–";
  const text = Math.abs(number) >= 1000 ? count(Math.round(number)) : String(Number(number.toPrecision(digits)));
  return text.replace("-", "−");
}

/** A figure in its unit, as the report writes it: `85.3 %`, `+8.0 points`, `1,234`. */
export function figure(number: number | null | undefined, unit: Unit): string {
  if (number === null || number === undefined) return "–";
  if (unit === "share") return `${percent(number)} %`;
  if (unit === "points") return `${signed(number)} points`;
  return decimals(number);
}

/** An interval in the unit of its figure, without the unit's name: `[+2.1, +13.9]`. */
export function range(low: number | null, high: number | null, unit: Unit): string {
  const end = { share: percent, points: signed, ratio: decimals, number: decimals }[unit];
  return low === null || high === null ? "" : `[${end(low)}, ${end(high)}]`;
}

function percent(share: number): string {
  return minus((100 * share).toFixed(1));
}

function signed(share: number): string {
  const text = percent(share);
  return /[1-9]/.test(text) && share > 0 ? `+${text}` : text;
}

/** A true minus sign, and none before a zero. */
function minus(text: string): string {
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`;
}
