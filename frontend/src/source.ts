// Where data come from: the server, or files of a static copy. The same questions, the same answers.
import type { Call, Columns, Debate, Experiment, Fault, Names, Question, State } from "./types";

type Shelf = { question: Question; debates: Record<string, Debate | Fault> };

export class Missing extends Error {}

async function get<T>(path: string, more: RequestInit = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...more });
  } catch {
    throw new Missing("The explorer does not answer; was it ended?");
  }
  if (!answer.ok) throw new Missing(answer.status === 404 ? "It is not there." : (await answer.text()).slice(0, 300));
  return (await answer.json()) as T;
}

/** Keeps what was asked lately: promises, so that nothing is asked twice at once. */
class Kept<T> {
  private held = new Map<string, Promise<T>>();
  constructor(private most: number) {}
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.held.get(key) ?? ask();
    this.held.delete(key);
    this.held.set(key, known);
    known.catch(() => this.held.delete(key));
    if (this.held.size > this.most) this.held.delete(this.held.keys().next().value!);
    return known;
  }
}

export class Source {
  private debates = new Kept<Debate | Fault>(200);
  private shelves = new Kept<Shelf>(12);
  private calls = new Kept<Record<string, Call | null>>(12);
  private questions = new Kept<Question>(200);
  private words = new Kept<Record<string, number[]>>(40);

  constructor(readonly name: string, private number: number, readonly isStatic: boolean, readonly canLabel: boolean) {}

  private at(path: string): string {
    return `data/x/${this.number}/${path}`;
  }

  overview = () => get<Experiment>(this.at("experiment.json"));
  state = () => get<State>(this.at("progress.json"));
  table = () => get<Columns>(this.at("table.json"));

  private shelf(question: number): Promise<Shelf> {
    return this.shelves.get(`${question}`, () => get(this.at(`questions/${question}.json`)));
  }

  debate(id: number, question: number): Promise<Debate | Fault> {
    if (!this.isStatic) return this.debates.get(`${id}`, () => get(this.at(`debates/${id}.json`)));
    return this.shelf(question).then((shelf) => shelf.debates[id] ?? { id, fault: "It is not among the files." });
  }

  question(dataset: string, id: string, code: number): Promise<Question> {
    if (this.isStatic) return this.shelf(code).then((shelf) => shelf.question);
    const asked = `dataset=${encodeURIComponent(dataset.toWellFormed())}&question=${encodeURIComponent(id.toWellFormed())}`;
    return this.questions.get(`${code}`, () => get(this.at(`question.json?${asked}`)));
  }

  async call(id: number, question: number, key: string): Promise<Call | null> {
    const path = this.isStatic ? `calls/${question}.json` : `calls/${id}.json`;
    return (await this.calls.get(path, () => get(this.at(path))))[key] ?? null;
  }

  /** Write a human label, or remove it with an empty value; gives the human labels of the debate. */
  label(debate: number, turn: number, label: string, value: string): Promise<Record<string, Record<string, string>>> {
    return get(this.at("label.json"), {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ debate, turn, label, value }),
    });
  }

  async search(text: string): Promise<Set<number>> {
    if (!this.isStatic) return new Set(await get<number[]>(this.at(`search.json?text=${encodeURIComponent(text.toWellFormed())}`)));
    let found: Set<number> | null = null;
    for (const word of wordsOf(text)) {
      const shelf = bucket(word);
      const known = await this.words.get(shelf, () => get<Record<string, number[]>>(this.at(`search/${shelf}.json`)).catch(() => ({})));
      const here = new Set(Object.keys(known).filter((one) => one.startsWith(word)).flatMap((one) => known[one]!));
      found = found === null ? here : found.intersection(here);
    }
    return found ?? new Set();
  }
}

export function wordsOf(text: string): string[] {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
}

/** The file of a static index that holds a word: its first two characters. */
function bucket(word: string): string {
  return [...word].slice(0, 2).map((one) => one.codePointAt(0)!.toString(16)).join("-");
}

export async function open(): Promise<Source[]> {
  const { experiments, is_static, can_label } = await get<Names>("data/experiments.json");
  return experiments.map((name, number) => new Source(name, number, is_static, can_label ?? false));
}

