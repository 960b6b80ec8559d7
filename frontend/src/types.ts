// What the server (or a folder of files) says; the shapes are those of cortexdsl/explorer.

export type Names = { experiments: string[]; is_static: boolean; can_label?: boolean };

export type Cell = {
  cell: string; slug: string; method: string; protocol: string; aliases: string[];
  settings: Record<string, unknown> | null; agents: string[] | null;
};
/** How a figure is written: a share of 1 in percent, a difference of shares in points, other figures as they are. */
export type Unit = "share" | "points" | "ratio" | "number";
export type Metric = {
  dataset: string; cell: string; metric: string; unit: Unit;
  estimate: number | null; ci_low: number | null; ci_high: number | null;
};
export type Verdict = {
  claim: string; verdict: string; note: string | null; link: string; unit: Unit;
  estimate: number | null; ci_low: number | null; ci_high: number | null; p_adjusted: number | null;
};
export type Comparison = {
  family: string; dataset: string; metric: string; cell: string; reference: string;
  difference: number | null; ci_low: number | null; ci_high: number | null; p_adjusted: number | null;
};
export type Spent = {
  calls: Record<string, number>; tokens: { input: number; output: number };
  dollars: number | null; seconds: number; failures: Record<string, number>; retries: Record<string, number>;
};
export type Row = Spent & {
  dataset: string | null; cell: string; state: string; debates: { done: number; total: number };
  calls_per_second: number; seconds_left: number | null;
};
export type Progress = {
  state: string; jobs: { running: number; silent: string[] }; cells: Row[]; all: Row; messages: Record<string, number>;
};
export type State = {
  index: {
    generation: number; is_ready: boolean; done: number; total: number; debates: number; faults: number; messages: string[];
  };
  judged: number;
  progress: Progress | null;
};
export type Experiment = State & {
  name: string; root: string; title: string; spec: string | null; seed: number | null; replicates: number | null;
  datasets: Record<string, number>; agents: { name: string; model: string; persona: string | null }[];
  cells: Cell[]; metrics: Metric[]; verdicts: Verdict[]; comparisons: Comparison[];
  labels: Record<string, string[]>; human_labels: string;
  has_report: boolean; stopped: string; unknown_questions: string;
};

export type Columns = {
  questions: [string, string, string][]; cells: string[]; answers: string[]; stops: string[];
  sources: string[]; outcomes: string[]; labels: Record<string, number[]>;
  debates: {
    id: number[]; question: number[]; cell: number[]; replicate: number[]; answer: number[]; stop: number[];
    source: number[]; had: number[];
    score: (number | null)[]; rounds: number[]; tied: number[]; unread: number[]; failed: number[]; flips: number[];
    to_right: number[]; to_wrong: number[]; persuaded: number[]; input: number[]; output: number[];
  };
};

export type Turn = {
  turn: number; execution: number; round: number; step: string; reads: string; speaker: string; about: string | null;
  heard: number[]; recalled: number[]; text: string; answer: string | null; unparsed: string | null;
  confidence_stated: number | null; confidence: number | null;
  prompt_tokens: number | null; completion_tokens: number | null; call: string; worth: number | null;
  reasoning?: string | null; ended: string | null; measured: Measured | null;
  placebos: Placebo[]; requests: ToolRequest[]; model: string | null;
};
/** A reply that asked for tools before the answer, and each use of one: its result, or why there is none. */
export type ToolRequest = {
  call: string; text: string; uses: ToolUse[]; prompt_tokens: number | null; completion_tokens: number | null;
};
export type ToolUse = { tool: string; argument: string; result: string; error: string | null; call: string };
/** What the prompt of a turn showed in place of the words of another turn. */
export type Placebo = {
  turn: number; kind: string; text: string; answer: string | null; confidence: number | null; call: string; question: string;
};
export type Aside = { call: string; said: string | null; unread: string | null };
export type Measured = { source: string; confidence: number | null; unmeasured: string | null; asides: Aside[] };
export type Graph = {
  round: number; step: string; speakers: string[]; listeners: string[];
  weight: (number | null)[][] | null; heard: number[][]; factors: Record<string, unknown>;
};
export type Change = {
  agent: string; round: number; before: number; after: number;
  was_right: boolean | null; is_right: boolean | null; heard: number[]; followed: number[];
};
export type Choice = {
  turn: number; round: number; role: string; candidates: string[]; weight: (number | null)[]; chosen: string[];
};
/** Labels of turns: by the number of the turn, then by name; null is an unreadable one. */
export type Labels = Record<string, Record<string, string | null>>;
export type Debate = {
  id: number; where: string; score: number | null; dataset: string; cell: string; replicate: number; question: string;
  guided: boolean; wording: number; answer: string | null;
  labels: Labels; human: Record<string, Record<string, string>>;
} & Stage;
/** One debate about a question, and the one that the question was handed on to. */
export type Stage = {
  own: string | null; own_worth: number | null; sure: number | null;
  votes: [string, number][]; tied: boolean; rounds: number; stop: string;
  agents: { name: string; model: string; entry: string; persona: string | null }[];
  debaters: string[]; turns: Turn[]; graphs: Graph[]; choices: Choice[]; changes: Change[];
  deferred: { to: string; below: number | null; debate: Stage } | null;
};
export type Fault = { id: number; fault: string };
export type Question = {
  text: string; options: [string, string][]; context: string; gold: string[];
  images: { digest: string; uri: string | null; why: string | null }[];
} | null;
export type Call = {
  key: string; model?: string; api_base?: string | null; parameters?: Record<string, unknown>; seed?: number;
  messages?: { role: string; content: string; tool_calls?: { function: { name: string; arguments: string } }[] }[]; images?: string[]; finish_reason?: string | null; dollars?: number | null;
  reply?: string | null;
  seconds?: number; attempts?: number; retries?: Record<string, number>; error?: string | null;
  usage?: { prompt_tokens: number | null; completion_tokens: number | null };
};
