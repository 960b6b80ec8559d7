// All debates of an experiment as columns: filtered and sorted here, so that nothing is asked again.
import type { Filters } from "./address";
import type { Columns } from "./types";

export const MARKS = {
  right: "right", wrong: "wrong", "to-right": "changed to right", "to-wrong": "changed to wrong", tied: "tied",
  unread: "unreadable", unanswered: "no answer", failed: "call failed",
  cut: "cut at its limit", repetitive: "in a loop", refused: "refused", empty: "empty", tool_calls: "tool called",
  unmeasured: "confidence not measured",
} as const;
export type Mark = keyof typeof MARKS;

export const ORDERS = {
  "": "question", persuasive: "most persuasive", tokens: "most expensive", flips: "most changes of mind", rounds: "most rounds",
} as const;
export type Order = keyof typeof ORDERS;

export type Filter = {
  dataset: string; cells: string[]; replicate: number; question: string; marks: Mark[];
  right: string; wrong: string; apart: string[]; agent: string; confidence: string; label: string; text: string; sort: Order;
};

export function filterOf(query: URLSearchParams): Filter {
  const sort = query.get("sort") ?? "";
  return {
    dataset: query.get("dataset") ?? "",
    cells: query.getAll("cell"),
    replicate: Number(query.get("replicate")) || 0,
    question: query.get("question") ?? "",
    marks: (query.get("is") ?? "").split(",").filter((word): word is Mark => word in MARKS),
    right: query.get("right") ?? "",
    wrong: query.get("wrong") ?? "",
    apart: query.getAll("apart").slice(0, 2),
    agent: query.get("agent") ?? "",
    confidence: query.get("confidence") ?? "",
    label: query.get("label") ?? "",
    text: query.get("text") ?? "",
    sort: sort in ORDERS ? (sort as Order) : "",
  };
}

export function filtersOf(filter: Filter): Filters {
  return {
    dataset: filter.dataset, cell: filter.cells, replicate: filter.replicate || null, question: filter.question,
    is: filter.marks.join(","), right: filter.right, wrong: filter.wrong, apart: filter.apart, agent: filter.agent,
    confidence: filter.confidence, label: filter.label, text: filter.text, sort: filter.sort,
  };
}

/** The cells that a filter sets side by side, if it does. */
export function beside(filter: Filter): string[] {
  if (filter.apart.length === 2) return filter.apart;
  if (filter.right || filter.wrong) return [filter.right, filter.wrong].filter(Boolean);
  return filter.cells;
}

const RIGHT = 0.5;

/** A question, a replicate, and the first row of them. */
export type Step = [number, number, number];

export class Debates {
  readonly count: number;
  private byKey = new Map<number, number>();
  private readonly repetitions: number;
  private questionCodes = new Map<string, number>();

  constructor(readonly columns: Columns) {
    const { question, cell, replicate } = columns.debates;
    this.count = question.length;
    this.repetitions = 1 + replicate.reduce((most, one) => Math.max(most, one), 0);
    for (let row = 0; row < this.count; row++) this.byKey.set(this.key(question[row]!, cell[row]!, replicate[row]!), row);
    columns.questions.forEach(([dataset, id], code) => this.questionCodes.set(`${dataset}\0${id}`, code));
  }

  private key(question: number, cell: number, replicate: number): number {
    return (question * this.columns.cells.length + cell) * this.repetitions + replicate;
  }

  isRight(row: number): boolean | null {
    const score = this.columns.debates.score[row];
    return score === null || score === undefined ? null : score >= RIGHT;
  }

  question(dataset: string, id: string): number {
    return this.questionCodes.get(`${dataset}\0${id}`) ?? -1;
  }

  cell(name: string): number {
    return this.columns.cells.indexOf(name);
  }

  at(question: number, cell: number, replicate: number): number {
    return cell < 0 || replicate >= this.repetitions ? -1 : this.byKey.get(this.key(question, cell, replicate)) ?? -1;
  }

  replicates(question: number): number[] {
    const found = new Set<number>();
    this.columns.debates.question.forEach((code, row) => code === question && found.add(this.columns.debates.replicate[row]!));
    return [...found].sort((a, b) => a - b);
  }

  /** Rows as steps of going through them: rows of one question and replicate are one step. */
  steps(rows: number[]): Step[] {
    const seen = new Set<number>();
    const { question, replicate } = this.columns.debates;
    const steps: Step[] = [];
    for (const row of rows) {
      const key = question[row]! * this.repetitions + replicate[row]!;
      if (seen.has(key)) continue;
      seen.add(key);
      steps.push([question[row]!, replicate[row]!, row]);
    }
    return steps;
  }

  tokens(row: number): number {
    return this.columns.debates.input[row]! + this.columns.debates.output[row]!;
  }

  /** The marks that any debate has, of those that are rare: outcomes of replies. */
  outcomes(): Set<string> {
    const all = this.columns.debates.had.reduce((found, had) => found | had, 0);
    return new Set(this.columns.outcomes.filter((_, bit) => all & (1 << bit)));
  }

  private has(row: number, mark: Mark): boolean {
    const { tied, unread, failed, to_right, to_wrong, answer } = this.columns.debates;
    switch (mark) {
      case "right": return this.isRight(row) === true;
      case "wrong": return this.isRight(row) === false;
      case "tied": return tied[row]! > 0;
      case "unread": return unread[row]! > 0;
      case "failed": return failed[row]! > 0;
      case "unanswered": return answer[row] === -1;
      case "to-right": return to_right[row]! > 0;
      case "to-wrong": return to_wrong[row]! > 0;
      default: return (this.columns.debates.had[row]! >> this.columns.outcomes.indexOf(mark)) % 2 === 1;
    }
  }

  /** The rows that a filter leaves, in its order; `said` are the debates in which the words sought were said. */
  find(filter: Filter, said: Set<number> | null, agentsOf: (cell: string) => string[]): number[] {
    const { question, cell, replicate, id } = this.columns.debates;
    const pair = filter.apart.length === 2 ? filter.apart : [filter.right, filter.wrong];
    const [first, second] = pair.map((name) => (name ? this.cell(name!) : -1)) as [number, number];
    const isPaired = pair.some(Boolean);
    const cells = new Set((isPaired ? [pair.find(Boolean)!] : filter.cells).map((name) => this.cell(name)));
    const peopled = filter.agent
      ? new Set(this.columns.cells.flatMap((name, code) => (agentsOf(name).includes(filter.agent) ? [code] : [])))
      : null;
    const source = filter.confidence ? this.columns.sources.indexOf(filter.confidence) : null;
    const labelled = filter.label ? new Set(this.columns.labels[filter.label] ?? []) : null;
    const questions = new Set<number>();
    this.columns.questions.forEach(([dataset, name], code) => {
      if ((!filter.dataset || dataset === filter.dataset) && (!filter.question || name === filter.question)) questions.add(code);
    });
    const isApart = (row: number): boolean => {
      const other = (code: number) => (code < 0 ? null : this.isRight(this.at(question[row]!, code, replicate[row]!)));
      const [one, two] = [other(first), other(second)];
      if (filter.apart.length === 2) return one !== null && two !== null && one !== two;
      return (!filter.right || one === true) && (!filter.wrong || two === false);
    };
    const rows: number[] = [];
    for (let row = 0; row < this.count; row++) {
      if (!questions.has(question[row]!) || (cells.size && !cells.has(cell[row]!))) continue;
      if (filter.replicate && replicate[row] !== filter.replicate) continue;
      if (peopled && !peopled.has(cell[row]!)) continue;
      if (labelled && !labelled.has(row)) continue;
      if (source !== null && this.columns.debates.source[row] !== source) continue;
      if (!filter.marks.every((mark) => this.has(row, mark))) continue;
      if (isPaired && !isApart(row)) continue;
      if (said && !said.has(id[row]!)) continue;
      rows.push(row);
    }
    const most = this.measure(filter.sort);
    return most ? rows.sort((a, b) => most(b) - most(a) || a - b) : rows;
  }

  private measure(sort: Order): ((row: number) => number) | null {
    const { persuaded, flips, rounds } = this.columns.debates;
    switch (sort) {
      case "persuasive": return (row) => persuaded[row]!;
      case "tokens": return (row) => this.tokens(row);
      case "flips": return (row) => flips[row]!;
      case "rounds": return (row) => rounds[row]!;
      case "": return null;
    }
  }
}
