// Values that come later, and what is kept while they come.
import { useEffect, useRef, useState } from "preact/hooks";
import { Debates } from "./debates";
import type { Source } from "./source";
import type { Experiment, State } from "./types";

export type Later<T> = { value: T | null; error: string };

/** Ask anew whenever the key changes; what was there stays until the answer comes. */
export function useLater<T>(key: string, ask: () => Promise<T>): Later<T> & { key: string } {
  const [held, hold] = useState<Later<T> & { key: string }>({ value: null, error: "", key: "" });
  useEffect(() => {
    let isWanted = true;
    ask().then(
      (value) => isWanted && hold({ value, error: "", key }),
      (error: Error) => isWanted && hold({ value: null, error: error.message, key }),
    );
    return () => { isWanted = false; };
  }, [key]);
  return held;
}

export type Opened = { source: Source; experiment: Experiment; state: State; debates: Debates | null; error: string };
type Held = { experiment: Experiment; state: State; debates: Debates | null; generation: number };

const EVERY = 2_000;
const held = new Map<string, Held>();

/** An experiment, kept up with its files while the page is looked at. */
export function useExperiment(source: Source): Opened | { error: string } | null {
  const [, redraw] = useState(0);
  const [error, fail] = useState("");
  const wanted = useRef(source.name);
  wanted.current = source.name;

  useEffect(() => {
    let isOpen = true;
    let timer = 0;
    const drawn = () => isOpen && redraw((n) => n + 1);

    async function look(): Promise<void> {
      const before = held.get(source.name);
      const state = before ? (source.isStatic ? before.state : await source.state()) : null;
      let now: Held;
      if (!before || (state && state.judged !== before.state.judged)) {
        const experiment = await source.overview();
        now = { experiment, state: experiment, debates: before?.debates ?? null, generation: before?.generation ?? -1 };
      } else now = { ...before, state: state! };
      held.set(source.name, now);
      drawn();
      if (now.generation !== now.state.index.generation) {
        const generation = now.state.index.generation;
        const debates = new Debates(await source.table());
        held.set(source.name, { ...held.get(source.name)!, debates, generation });
        drawn();
      }
    }

    async function keep(): Promise<void> {
      try {
        if (!document.hidden || !held.has(source.name)) await look();
        if (isOpen) fail("");
      } catch (problem) {
        if (isOpen) fail((problem as Error).message);
      }
      if (isOpen && !source.isStatic) timer = window.setTimeout(keep, EVERY);
    }
    void keep();
    return () => { isOpen = false; clearTimeout(timer); };
  }, [source]);

  const known = held.get(source.name);
  if (known) return { source, ...known, error };
  return error ? { error } : null;
}
