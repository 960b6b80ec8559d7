"""Meanings of the fields of stored files, by the class that the program writes them from."""

from __future__ import annotations

from collections.abc import Mapping

RECORDS: Mapping[str, Mapping[str, str]] = {
    "Header": {
        "experiment": "name of the experiment",
        "dataset": "label of the dataset",
        "cell": "the cell: a method with one combination of settings",
        "replicate": "number of the repetition, from 1",
        "guided": "true if an agent was told the gold answer ([training data](../training.md)). Never scored",
        "without": "only in [counterfactual](../whatif.md) records: what the debate leaves out. Not a result of its "
        "cell, and not in `scores.csv`",
    },
    "Debate": {
        "question_id": "id of the question",
        "agents": "[all agents](#an-agent), of all roles",
        "turns": "[all turns](#a-turn), in their order",
        "graphs": "[who heard whom](#a-graph), for each step in which agents hear others",
        "answer": "the answer of the debate in canonical form; null if there is none (the debate scores 0)",
        "votes": "weight of each answer in the final vote, sorted by answer; empty if the decision is not a vote",
        "was_tied": "whether the vote was tied before the tie rule",
        "rounds": "number of rounds after the opening",
        "stop": "why the debate ended. `consensus`: all debaters agreed. `agreed`: all verdicts of a step were "
        "`agree`. `condition`: another condition was true. `rounds`: the schedule, or its number of rounds, ended",
        "images": "only if the question has [images](../datasets.md#images): their SHA-256 digests",
        "choices": "only if there are any: the [roles that were filled](#a-choice) during the debate",
        "wording": "only if prompts have [variants](../language/controls.md#wordings-of-a-prompt): the number of the "
        "variant, from 1",
        "step_models": "only if steps have [models of their own](../language/protocol.md#a-step): `model`, "
        "`model_entry`, `parameters` and `tokens` of each of these steps",
        "standing": "only if a debater was silent in some round. One list for each round: the numbers of the turns "
        "with the current answers of the debaters. A silent debater keeps its last answer",
        "confidence": "only if the method says [how to determine it](../language/confidence.md#confidence-of-a-debate) "
        "or hands questions on: [how sure the debate is](#a-confidence)",
        "deferred": "only if the question was [handed on](#a-question-that-was-handed-on)",
    },
    "RecordedAgent": {
        "name": "name of the agent",
        "model": "the model, as the provider calls it",
        "model_entry": "name of the model in the spec",
        "persona": "persona of the agent; null if it has none",
        "parameters": "number of parameters of the model; null if unknown",
        "tokens": "number of tokens that the model was pre-trained on; null if unknown",
        "given": "only if the spec gives the agent "
        "[numbers for expressions](../language/expressions.md#answers-and-your-own-numbers): these numbers",
    },
    "Turn": {
        "turn": "its number, from 0. (In expressions, `turn.turn` counts from 1)",
        "execution": "number of the execution of a step, from 0. Turns with the same number are of one execution",
        "round": "the round; 0 is the opening. A step between two rounds, such as a review, belongs to the later one",
        "step": "name of the step in the protocol",
        "reads": "what was read from the reply: `answer`, `review`, `verdict`, `summary`, `selection`, `comment`, "
        "`similarity` or `choice`. A [belief](../language/protocol.md#reads) is an `answer`",
        "speaker": "name of an agent",
        "about": "what a review or summary is for: an agent, or a group such as `group 2`",
        "heard": "the turns of other agents in its prompt",
        "recalled": "the turns that the speaker was reminded of ([`memory`](../language/protocol.md#memory)): its own "
        "and, with `memory: all`, what it was shown before",
        "text": "the reply, without the reasoning of the model",
        "answer": "what was read, in canonical form",
        "unparsed": "why nothing could be read; null if something was",
        "confidence_stated": "the confidence that the reply states: normally from 0 to 1, "
        "[rarely outside](../grading.md#reading)",
        "confidence": "the confidence that the debate uses: the stated or measured one, after recalibration",
        "prompt_tokens": "as the server counted them; null if it did not. Never estimated",
        "completion_tokens": "the same for the reply",
        "call": "key of the call in the [call log](files.md#a-line-of-a-call-log); empty in "
        "[imported](../old-runs.md) debates",
        "reasoning": "only if present: the reasoning of the model",
        "reasoning_tokens": "only if present: its tokens",
        "ended": "only if the model did not end the reply itself: the reason of the server. `length`: the reply was "
        "cut at its limit",
        "beside": "only if the step [reads several things](../language/protocol.md#reads): the others, as in "
        '`{"verdict": "agree"}`; null if one could not be read. '
        "A belief is a text: a JSON object with a probability of each answer",
        "measured": "only if the method [measures confidences](../language/confidence.md#confidence-of-an-answer): "
        "[how](#a-confidence)",
        "placebos": "only if the prompt showed a [placebo](../language/controls.md#placebos): "
        "[what was shown instead](#a-placebo)",
        "requests": "only if the agent [used tools](../tools.md#tools-in-a-turn) before it answered: its "
        "[requests](#a-request-for-tools), in order",
    },
    "ToolRequest": {
        "call": "key of the call in the call log",
        "text": "what the reply says besides, without the blocks that ask for tools",
        "uses": "the [uses](#a-use-of-a-tool) that it asks for, in order",
        "prompt_tokens": "as of a turn",
        "completion_tokens": "as of a turn",
        "reasoning_tokens": "only if present: as of a turn",
    },
    "ToolUse": {
        "tool": "the name that the model wrote",
        "argument": "the text for the tool; as the model wrote it if it could not be read",
        "result": "what the tool returned, as the model was shown it: at most 10,000 characters",
        "error": "only if there is no result: why, as the model was told",
        "call": "only if the tool was called: key of its call in the call log",
    },
    "Graph": {
        "round": "the round",
        "step": "the step",
        "speakers": "the agents of the rows",
        "listeners": "the agents of the columns",
        "weight": "matrix `[speaker][listener]` of edge weights, for steps with "
        "[`weight` or `where`](../language/protocol.md#hears); null for all other steps. One weight is null if "
        "the edge is impossible: from an agent to itself, from one whose last reply was empty, or outside the graph "
        "of `topology`",
        "heard": "matrix `[speaker][listener]`: whether the listener was shown words of the speaker",
        "factors": "what the weight was computed from, by [name](../language/expressions.md): a number for "
        "each speaker (such as `credibility`), or a matrix (such as `similarity`)",
    },
    "RoleChoice": {
        "turn": "number of turns before the choice",
        "round": "the round that comes next",
        "role": "the role that was filled",
        "candidates": "the candidates",
        "weight": "the weight of each candidate",
        "chosen": "the agents that were chosen",
    },
    "Measured": {
        "source": "how the confidence was measured: for an answer `logprob`, `consistency` or `verifier`; for a debate "
        "`votes` or `weighted` (in records of version 0.2.0 also `linear`, `log_odds`, `verifier`)",
        "confidence": "from 0 to 1, before recalibration; null if unknown",
        "unmeasured": "why there is none; null if there is one",
        "calls": "the [calls](#a-call-that-measures) that measured it",
    },
    "ProbeCall": {
        "call": "key of the call in the call log",
        "said": "what was read from the reply",
        "unread": "why nothing was read",
        "prompt_tokens": "as of a turn",
        "completion_tokens": "as of a turn",
        "reasoning_tokens": "as of a turn",
    },
    "Placebo": {
        "turn": "the turn of `heard` or `recalled` that was replaced",
        "kind": "the kind of placebo",
        "text": "what the prompt showed instead of the text of the turn",
        "answer": "the answer that replaced that of the turn. Not every template shows it",
        "confidence": "the same for the confidence",
        "call": "key of the call whose reply the text comes from",
        "question": "for the kind `other_question`: id of the other question",
    },
    "Deferred": {
        "to": "the cell that answered",
        "below": "the confidence that the first debate did not reach",
        "own": "the answer of the first debate",
        "debate": "the other debate, with the fields of a debate from `agents` on",
    },
}
"""Fields of debate records, by class; the first section has those of two."""

CALL_LOG: Mapping[str, str] = {
    "schema_version": "version of the format. Lines of version 1 have no checksum and are still read",
    "key": "digest of the call: model, address as the spec writes it, options, seed, messages and images. Transport, "
    "price and timeout are not part of it",
    "error": "why the call failed; null if it did not",
    "attempts": "how often the call was sent",
    "retries": "the failed attempts before the last one, counted by kind of failure",
    "usage": "tokens as the server counted them: `prompt_tokens` and `completion_tokens`; if known, also the parts of "
    "`prompt_tokens` that were read from the cache of the provider (`cached_tokens`), written into it "
    "(`cache_write_tokens`), and written for an hour (`cache_write_1h_tokens`, a part of `cache_write_tokens`)",
    "dollars": "cost; null if the price is unknown",
    "lost": "only if there are any: sums of failed attempts whose tokens the server counted. They are billed, and all "
    "totals include them",
    "seconds": "time from the first request to the reply",
    "finish_reason": "why the reply ended",
    "seed_refused": "whether the provider refused the seed",
    "model": "the model, as the provider calls it",
    "api_base": "the address, as the spec writes it",
    "parameters": "the options of the call",
    "seed": "the seed",
    "messages": "the prompt",
    "reply": "the reply",
    "images": "only if present: SHA-256 digests of the images",
    "reasoning": "only if present: the reasoning of the model",
    "reasoning_tokens": "only if present: its tokens",
    "tokens": "only with the option `logprobs`: for each token of the reply its number of characters and its log "
    "probability. Missing if the texts of the tokens do not add up to the reply",
    "tools": "only if the model may call functions: their definitions, as they were sent",
    "tool_choice": "`none` if there are functions that the reply may not call",
    "requests": "only if the reply calls functions: of each call its id, name and arguments",
    "returned": "only with `requests`: fields of the reply that are sent back to the provider",
}
"""Fields of a line of a call log; the checksum is that of any line."""

FILES: Mapping[str, Mapping[str, str]] = {
    "LedgerEntry": {
        "kind": "`declared`: claims were declared or changed. `verdicts`: claims were tested. `manifest`: a job added "
        "a seal to the manifest. `opened`: a job found calls and no ledger. `control`: a pause, its end, or a changed "
        "limit. `damage`: entries at the end of the ledger are missing. `logs`: call logs are missing or changed when "
        "a run begins",
        "said": "the entry in sentences",
        "after_calls": "whether calls or debates existed when the entry was written",
        "seal": "first 32 hexadecimal digits of the SHA-256 of the JSON of this entry (keys sorted, without `seal` and "
        "`at`)",
        "seed": "seed of the experiment at that time",
        "at": "time in UTC; not sealed",
        "declaration": "only of `declared`: `seed, replicates, alpha, correction, judge, stopping, metrics, families, "
        "datasets, cells, claims`",
        "verdicts": "only of `verdicts`: `claim, verdict, estimate, p_adjusted` of each claim, with six decimals",
        "manifest": "only of `manifest`: the seal of the manifest",
    },
}
"""Fields of other files, by class."""

COLUMNS: Mapping[str, str] = {
    "declared": "when the claim was declared: before or after the first call",
    "changed": "changes of the seed, and of what the verdict depends on, after the first call",
    "runs": "how often the claim was tested, with the seed and verdict of each run",
    "ledger": "seal of the entry of the ledger with these verdicts",
    "questions_needed": "for an undecided claim: how many questions would decide an effect of the estimated size with "
    "80 % power; empty if unknown. Not there with `stopping`",
    "exploratory": "true if the claim or comparison, in its present form, was not declared before the first call",
    "ci_low_simultaneous": "lower end of an interval that holds for all comparisons of the family at once",
    "ci_high_simultaneous": "its upper end",
}
"""Columns of tables of tests that need an explanation."""

SCORES: Mapping[str, str] = {
    "dataset, cell, method, replicate, question_id, score": "always there",
    "unparsed, rounds, stop, calls, input_tokens, output_tokens": "always there",
    "METRIC": "every other [metric](../metrics.md) that is a number for each debate; those of [budgets and "
    "samples](../budgets.md) only if the spec names them",
    "score@0, consensus@0, agent_score@0, score@1 ...": "the value after the opening (`@0`) and after each later round "
    "except the last, which is in `score`. `accuracy(full, round=0)` reads them",
    "cluster": "of the question: those of one [cluster](../verdicts.md#why-the-question-is-the-unit) belong together",
    "group": "of the question: its [group](../grading.md#averages), such as a subject",
    "wording": "only if prompts have variants: which one was used",
    "schema_version": "version of the format",
}
"""Columns of scores.csv."""

TRANSCRIPT: Mapping[str, str] = {
    "agents": "required. What each agent said in each round: a list for each name, or a list of lists. If an agent was "
    "not run in a round, write `null`, or end its list earlier",
    "names": "the agents' names, if `agents` is a list of lists. Default: `agent 1`, `agent 2` ...",
    "id": "the question's id, text or whole number. Default: the number of the line",
    "dataset": "its dataset; `MMLU/prehistory` is dataset MMLU, group prehistory. Default: `--dataset`, else the "
    "name of the file",
    "cell": "which method produced the debate. Default: `--cell`, else `imported`",
    "replicate": "which repetition it is. Default: 1",
    "question": "the question",
    "context": "a text that belongs to it",
    "cluster": "the same text for questions that belong together",
    "choices": 'the options: a list of texts, which get the labels A, B ...; or `{"label": [...], "text": [...]}`',
    "answer": "the right answer (gold); with `choices` its label, or its index from 0 as a number. Give it for all "
    "questions of a dataset, or for none: then there are records but no scores",
    "models": "a text for all agents, or a list with one for each. Default: unknown",
    "personas": "a list with one for each agent",
    "heard": "for each round after the first, a list of pairs `[speaker, listener]`. Default: everyone hears all "
    "others that were run in the round before",
    "confidence": "a number for each reply, in lists of the same shape as `agents`. Default: read from the reply",
    "prompt_tokens": "numbers of tokens, in lists of the same shape. Default: unknown",
    "completion_tokens": "the same for replies",
    "final": "the answer that the debate ended with. Default: the majority of the last round; if it is tied, the "
    "answer with the highest sum of confidences, or else a draw",
}
"""Keys of a line of an imported transcript."""

PACKED: Mapping[str, str] = {
    "float64": "the numbers row by row, 8 bytes each, little-endian, in base64; NaN means null",
    "upper": "for a symmetric matrix: the same, but only the part of each row from the diagonal on",
    "bits": "true and false row by row, eight to a byte, the first in the highest bit, in base64",
    "complement": "the name of another factor; each entry is 1 minus the entry of that factor",
}
"""Keys of a packed matrix."""

VERSIONS: Mapping[str, str] = {
    "1": "written before lines had checksums",
    "2": "written before matrices could be [packed](#packed-matrices)",
    "3": "a record that has nothing of the rows below",
    "4": "has `choices`, `standing` or `wording`; or a turn has `beside`, or `choice` in `reads`; or a condition ended "
    "the debate",
    "5": "a turn has `measured`",
    "6": "a turn has `placebos`, or the debate has `confidence`, `deferred` or `step_models`",
    "7": "a turn has `requests`",
}
"""Versions of the format of records."""
