// What one agent said: what was read from it, how sure it was, whom it had heard, and what exactly it was asked.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Palette } from "./answers";
import { weightOf } from "./graph";
import type { Source } from "./source";
import { Text, Word, count, decimals, duration, many, reasoningIn } from "./text";
import type { Call, Debate, Turn } from "./types";

const PLACEBOS: Record<string, string> = {
  other_question: "what was said about another question", own: "its own reply", shuffled: "these words in another order",
  same_length: "a further reply of its own",
};

export function Answer({ answer, worth, colour }: { answer: string | null; worth?: number | null; colour: Palette }) {
  const look = colour(answer, worth);
  return (
    <span class={`answer ${look.className}`}>
      {look.mark && <span class="sign" aria-label={look.said} role="img">{look.mark}</span>}
      {answer === null ? "none" : answer === "" ? <i>empty</i> : <Word>{answer}</Word>}
    </span>
  );
}

/** What was stated, or measured in its place, and what it was taken for. */
function Confidence({ turn }: { turn: Turn }) {
  const { confidence_stated: stated, confidence: taken, measured } = turn;
  const raw = measured ? measured.confidence : stated;
  if (raw === null && taken === null) return null;
  const at = (value: number) => 2 + 56 * Math.min(1, Math.max(0, value));
  const isSame = raw === taken || raw === null || taken === null;
  const how = measured ? `${measured.source} measures ${decimals(raw)}${stated !== null ? ` (it says ${decimals(stated)})` : ""}` : `sure to ${decimals(taken ?? raw)}`;
  const said = isSame ? how : `${measured ? how : `sure to ${decimals(raw)}`}, taken as ${decimals(taken)} after recalibration`;
  return (
    <span class="confidence" title={said}>
      <svg width="60" height="10" role="img" aria-label={said}>
        <line class="scale" x1="2" x2="58" y1="5" y2="5" />
        {raw !== null && <circle class="stated" cx={at(raw)} cy="5" r="3.2" />}
        {taken !== null && !isSame && <circle class="taken" cx={at(taken)} cy="5" r="3.4" />}
      </svg>
      <span aria-hidden="true">{measured && `${measured.source} `}{decimals(raw ?? taken)}{!isSame && <> → {decimals(taken)}</>}</span>
    </span>
  );
}

/** The calls that measured a confidence: what each said, and what exactly it was asked. */
function Beside({ source, debate, question, turn }: { source: Source; debate: Debate; question: number; turn: Turn }) {
  const { measured } = turn;
  if (!measured?.asides.length) return null;
  const isVerified = measured.source === "verifier";
  return (
    <details class="fold"><summary>{isVerified ? "its verifier" : many(measured.asides.length, "further reply", "further replies")}: {measured.asides.map((aside, place) => <>{place ? ", " : ""}{aside.said === null ? <i>unread</i> : <Word most={24}>{aside.said}</Word>}</>)}</summary>
      {measured.asides.map((aside) => (
        <div class="aside">
          {aside.unread !== null && <p class="fault">unreadable: <Word most={300}>{aside.unread}</Word></p>}
          <Prompt source={source} debate={debate} question={question} call={aside.call} name={isVerified ? "what it was asked and said" : "the call, and what it said"} />
        </div>
      ))}
    </details>
  );
}

function Heard({ debate, turn }: { debate: Debate; turn: Turn }) {
  const heard = turn.heard.map((number) => debate.turns[number]!).filter((one) => one.speaker !== turn.speaker);
  if (!heard.length) return null;
  return (
    <p class="heard">
      heard{" "}
      {heard.map((one, place) => {
        const weight = weightOf(debate, one.speaker, turn);
        if (turn.placebos.some((placebo) => placebo.turn === one.turn)) return <>{place ? ", " : ""}<Word most={24}>{one.speaker}</Word> (a placebo)</>;
        return <>{place ? ", " : ""}<Word most={24}>{one.speaker}</Word>{one.answer !== null && one.reads === "answer" && <> (<Word most={20}>{one.answer}</Word>)</>}{weight !== null && <span class="weight" title="weight of the edge"> {decimals(weight, 2)}</span>}</>;
      })}
    </p>
  );
}

/** What the prompt showed in place of the words of others. */
function Placebos({ debate, turn }: { debate: Debate; turn: Turn }) {
  return (
    <>
      {turn.placebos.map((placebo) => (
        <details class="fold placebo">
          <summary>shown in place of <Word most={24}>{debate.turns[placebo.turn]!.speaker}</Word>'s words: {PLACEBOS[placebo.kind] ?? placebo.kind}{placebo.question !== "" && <> (<Word most={30}>{placebo.question}</Word>)</>}</summary>
          <Text what="placebo">{placebo.text}</Text>
        </details>
      ))}
    </>
  );
}

/** What an agent asked of tools before it answered, and what it was told. */
function Requests({ source, debate, question, turn, words }: { source: Source; debate: Debate; question: number; turn: Turn; words: string[] }) {
  return (
    <>
      {turn.requests.map((request) => (
        <div class="request">
          {request.text.trim() !== "" && <Text words={words}>{request.text}</Text>}
          {request.uses.map((use) => (
            <div class={use.error === null ? "use" : "use failed"}>
              <p class="faint">{use.error === null ? "used" : "could not use"} <Word most={40}>{use.tool}</Word>:</p>
              <Text what="argument">{use.argument}</Text>
              <p class="faint">and was told:</p>
              <Text what="result">{use.error ?? use.result}</Text>
            </div>
          ))}
          <Prompt source={source} debate={debate} question={question} call={request.call} name="the call in which it asked for this" />
        </div>
      ))}
    </>
  );
}

/** The tokens of a turn in and out, with those of its requests for tools. */
export function tokensOf(turn: Turn): [number, number] {
  const calls = [turn, ...turn.requests];
  const sum = (of: (call: { prompt_tokens: number | null; completion_tokens: number | null }) => number | null) => calls.reduce((total, call) => total + (of(call) ?? 0), 0);
  return [sum((call) => call.prompt_tokens), sum((call) => call.completion_tokens)];
}

function Prompt({ source, debate, question, call: key, name = "its prompt" }: { source: Source; debate: Debate; question: number; call: string; name?: string }) {
  const [call, hold] = useState<Call | null | undefined>(undefined);
  const [error, fail] = useState("");
  const opened = (event: Event) => {
    if (!(event.currentTarget as HTMLDetailsElement).open || call !== undefined) return;
    source.call(debate.id, question, key).then(hold, (problem: Error) => fail(problem.message));
  };
  return (
    <details class="fold" onToggle={opened}>
      <summary>{name}</summary>
      {error && <p class="fault">{error}</p>}
      {call === undefined && !error && <p class="faint">…</p>}
      {call === null && <p class="faint">No call log here holds this call (key <code>{key}</code>).</p>}
      {call && (
        <>
          {(call.messages ?? []).map((message) => (
            <div class="message"><span class="role">{message.role}</span><Text what="prompt">{[String(message.content), ...(message.tool_calls ?? []).map((one) => `${one.function.name}(${one.function.arguments})`)].filter(Boolean).join("\n")}</Text></div>
          ))}
          {call.reply && <div class="message"><span class="role">reply</span><Text>{call.reply}</Text></div>}
          {call.images && <p class="faint">with {call.images.map((digest) => <><code>{digest}</code> </>)}(images, by their digests)</p>}
          <p class="faint">
            {[
              call.model, `seed ${call.seed}`,
              ...Object.entries(call.parameters ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
              call.seconds !== undefined && duration(call.seconds) !== "0 s" && duration(call.seconds),
              (call.attempts ?? 1) > 1 && `${call.attempts} attempts`, call.finish_reason && `ended: ${call.finish_reason}`,
              call.dollars && `$${decimals(call.dollars, 2)}`, call.error && `failed: ${call.error}`, `key ${key}`,
            ].filter(Boolean).join(" · ")}
          </p>
        </>
      )}
    </details>
  );
}

/** The id of the element of a turn; a question that was handed on has several debates (stages). */
export function spot(debate: Debate, stage: number, turn: number): string {
  return `t-${debate.id}-${stage ? `${stage}-` : ""}${turn}`;
}

export function Said({ source, debate, stage, question, turn, colour, words, isChosen, children }: {
  source: Source; debate: Debate; stage: number; question: number; turn: Turn; colour: Palette; words: string[]; isChosen: boolean;
  children?: ComponentChildren;
}) {
  const [inside, reply] = reasoningIn(turn.text);
  const reasoning = turn.reasoning || inside;
  const [tokensIn, tokensOut] = tokensOf(turn);
  const tokens = tokensIn + tokensOut;
  const isFailed = turn.text === "" && turn.unparsed !== null;
  return (
    <article class={`turn ${isChosen ? "chosen" : ""}`} id={spot(debate, stage, turn.turn)} tabIndex={-1}>
      <header>
        <h4><Word most={30}>{turn.speaker}</Word>{turn.model !== null && <span class="faint"> with <Word most={40}>{turn.model}</Word></span>}{turn.about !== null && <span class="faint"> about <Word most={30}>{turn.about}</Word></span>}</h4>
        {turn.reads === "answer" ? <Answer answer={turn.answer} worth={turn.worth} colour={colour} /> : <span class="reads">{turn.reads}{turn.answer !== null && turn.reads !== "summary" && turn.reads !== "comment" && <>: <Word most={40}>{turn.answer}</Word></>}</span>}
        <Confidence turn={turn} />
        {tokens > 0 && <span class="tokens faint" title={`${count(tokensIn)} tokens in, ${count(tokensOut)} out`}>{count(tokens)} tok</span>}
      </header>
      {children}
      <Heard debate={debate} turn={turn} />
      <Placebos debate={debate} turn={turn} />
      {turn.unparsed !== null && <p class="fault">{isFailed ? "the call brought no words" : "unreadable"}: <Word most={300}>{turn.unparsed}</Word></p>}
      {turn.ended === "length" && <p class="fault">cut at its length limit</p>}
      {turn.measured?.unmeasured && <p class="fault">its confidence could not be measured: <Word most={300}>{turn.measured.unmeasured}</Word></p>}
      <Requests source={source} debate={debate} question={question} turn={turn} words={words} />
      {reasoning && <details class="fold"><summary>its reasoning ({count(reasoning.length)} characters)</summary><Text words={words} what="reasoning">{reasoning}</Text></details>}
      {reply !== "" && <Text words={words}>{reply}</Text>}
      <Beside source={source} debate={debate} question={question} turn={turn} />
      <Prompt source={source} debate={debate} question={question} call={turn.call} />
    </article>
  );
}
