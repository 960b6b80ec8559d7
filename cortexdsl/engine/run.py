"""Run a debate: a method and a question in, a debate out.

The engine is pure: it acts only through the functions that it is given (`Ports`). The same replies give the same
debate. Its only state is the turns so far, so that a debate can branch anywhere: `given` turns are used instead of
calls, and the debate continues after them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from cortexdsl.core import (
    AS_WRITTEN,
    BY_VOTES,
    NEVER,
    NO_REPLY,
    NOTHING,
    STATED,
    TOOLS_PROMPT,
    Ablation,
    Agent,
    Call,
    Choose,
    Debate,
    Defer,
    Deferred,
    Measured,
    Message,
    Method,
    Model,
    Nobody,
    OfferedTool,
    OtherQuestion,
    Ports,
    Question,
    Reading,
    Repeat,
    SchedulePart,
    Sparse,
    Step,
    Stop,
    ToolRequest,
    Turn,
)
from cortexdsl.engine.ablation import without_agents, without_edges, without_heard
from cortexdsl.engine.concurrency import gather_all, yield_to_others
from cortexdsl.engine.confidence import measure_confidence, recalibrate
from cortexdsl.engine.debate_confidence import debate_confidence
from cortexdsl.engine.decisions import answers_of, decide, last_of
from cortexdsl.engine.messages import QuotedTurns, View, build_view, items_of, length_of_question, select_turns
from cortexdsl.engine.methods import (
    agent_numbers,
    debating_agents,
    in_wording,
    opens_round,
    players,
    roles_of,
)
from cortexdsl.engine.name_values import Snapshot
from cortexdsl.engine.placebo import Placebos, without_placebos
from cortexdsl.engine.readings import read_reply, unified
from cortexdsl.engine.seeds import call_seed, drawn_wording, seeded_random
from cortexdsl.engine.sparsification import condition_holds, fill_role, step_graph
from cortexdsl.engine.state import DebateState, options_shown
from cortexdsl.engine.tool_use import ask_with_tools
from cortexdsl.engine.topology import PlannedTurn, draw_groups, planned_turns, shown_graph
from cortexdsl.errors import DebateError


async def run_debate(
    method: Method,
    question: Question,
    ports: Ports,
    *,
    seed: int,
    replicate: int,
    given: Sequence[Turn] = (),
    ablation: Ablation = NOTHING,
) -> Debate:
    """Run one debate.

    Parameters
    ----------
    method : Method
    question : Question
    ports : Ports
        What they raise ends the debate, after all calls of the step are back.
    seed, replicate : int
        Of the experiment; every draw derives from them and the question.
    given : sequence of Turn
        The first turns, used as they are instead of calls: a branch of an earlier debate.
    ablation : Ablation
        What is left out. Seeds do not depend on it: a call with the same messages stays the same call.

    Returns
    -------
    Debate

    Raises
    ------
    DebateError
        The protocol cannot continue: a weight is not a number, a graph does not fit the agents, or a given turn is not
        one of its schedule.
    """
    return await _Run(method, question, ports, seed, replicate, given, ablation).whole()


_STOPS: Mapping[str, Stop] = {"consensus": "consensus", "approved": "agreed"}
"""What a record says of the conditions that are one word."""


class _Enough(Exception):  # noqa: N818 - not an error
    """Ends a debate if no later turn is needed."""


class _Run:
    """A debate that is running; with `through`, until this execution of a step."""

    def __init__(
        self,
        method: Method,
        question: Question,
        ports: Ports,
        seed: int,
        replicate: int,
        given: Sequence[Turn],
        ablation: Ablation,
        through: int | None = None,
    ) -> None:
        self.written, self.through = method, through
        self.wording = drawn_wording(seed, replicate, method.wordings) + 1 if method.wordings else 0
        method = in_wording(method, self.wording - 1) if self.wording else method
        self.method, self.question, self.ports = method, question, ports
        self.seed, self.replicate, self.given, self.ablation = seed, replicate, given, ablation
        self.method_after_removal = without_agents(method, ablation)
        self.skipped_rounds = 0
        names = tuple(agent.name for agent in debating_agents(method))
        remaining = tuple(agent.name for agent in debating_agents(self.method_after_removal))
        self.state = DebateState(names, remaining=remaining, own_numbers=agent_numbers(method))
        self.quotes = QuotedTurns(method.quote, ports.reader)
        self.sent: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.agents = {agent.name: agent for agents in method.role_agents.values() for agent in agents}
        self.groups = draw_groups(method, names, self._chance("groups"))
        self.placebos = (
            Placebos(
                method, question, ports, self.state, self._chance,
                lambda name, times: call_seed(seed, replicate, question.id, name, times), self._debate_other,
            )
            if any(step.placebo != "none" for step in method.steps.values())
            else None
        )  # fmt: skip
        self.stop: Stop = "rounds"
        self.passes: tuple[int, ...] = ()

    async def whole(self) -> Debate:
        await self._run(self.method.schedule)
        if len(self.given) > len(self.state.turns):
            raise DebateError(f"{len(self.given)} turns are given, but the debate ends after {len(self.state.turns)}")
        decision = decide(
            self.method_after_removal, self.state.turns, self.state.remaining, lambda: self._chance("tie")
        )
        confidence = self._confidence(decision.answer)
        deferred = await self._hand_on(decision.answer, confidence)
        is_regular = self.state.all_answered_every_round(self.ablation.agents)
        return Debate(
            question_id=self.question.id,
            agents=tuple(agent for name, agent in self.agents.items() if name not in self.ablation.agents),
            turns=tuple(self.state.turns),
            graphs=tuple(self.state.graphs),
            answer=decision.answer if deferred is None else deferred.debate.answer,
            votes=decision.votes,
            was_tied=decision.was_tied,
            rounds=max(0, self.state.round - 1),
            stop=self.stop,
            images=tuple(image.digest for image in self.question.images),
            choices=tuple(self.state.choices),
            standing=() if is_regular else self.state.answer_numbers(),
            confidence=confidence,
            deferred=deferred,
            wording=self.wording,
            step_models={
                name: step.model for name, step in sorted(self.method.steps.items()) if step.model is not None
            },
        )

    async def turns(self) -> tuple[Turn, ...]:
        """Return the turns until the execution `through`, or until the debate ends."""
        with suppress(_Enough):
            await self._run(self.method.schedule)
        return tuple(self.state.turns)

    async def _debate_other(self, other: OtherQuestion, through: int, given: Sequence[Turn]) -> tuple[Turn, ...]:
        """Return the turns of the same method, without placebos, about another question."""
        method = other.prepare(without_placebos(self.written))
        return await _Run(
            method, other.question, other.ports, self.seed, self.replicate, given, NOTHING, through
        ).turns()

    def _confidence(self, answer: str | None) -> Measured | None:
        """Return how sure the debate is, if that is not known from its votes alone or decides whether it answers."""
        measure = self.method.debate_confidence
        if measure == BY_VOTES and self.method.defer is None:
            return None
        last = last_of(answers_of(self.method_after_removal, self.state.turns, self.state.remaining))
        return debate_confidence(measure.source, answer, last)

    async def _hand_on(self, answer: str | None, confidence: Measured | None) -> Deferred | None:
        """Let the other method answer if the rule's condition holds, or the debate is not sure enough."""
        rule = self.method.defer
        if rule is None or not await self._is_handed_on(rule, confidence):
            return None
        debate = await run_debate(rule.method, self.question, self.ports, seed=self.seed, replicate=self.replicate)
        return Deferred(rule.to, None if rule.where else rule.below, answer, debate)

    async def _is_handed_on(self, rule: Defer, confidence: Measured | None) -> bool:
        if rule.where:
            now = self._snapshot(self.method_after_removal, "defer", *self._now())
            return await condition_holds(now, rule.where)
        known = None if confidence is None else confidence.confidence
        return confidence is not None and (known is None or known < rule.below)

    # ------------------------------------------------------------ schedule
    async def _run(self, schedule: Sequence[SchedulePart]) -> None:
        for part in schedule:
            if isinstance(part, Choose):
                await self._fill_role(part)
            elif isinstance(part, str):
                step = self.method.steps[part]
                if not self._is_left_out(step):
                    await self._speak(step)
            elif not await self._holds(part.unless):
                outer = self.passes
                self.passes = () if _is_loop(part) else outer
                for _ in range(part.times):
                    self.passes += (self.state.executions,) if _is_loop(part) else ()
                    skipped = self.skipped_rounds
                    await self._run(part.body)
                    if self.skipped_rounds == skipped and await self._holds(part.until):
                        break
                self.passes = outer

    def _is_left_out(self, step: Step) -> bool:
        """Return whether a step is skipped here; count a round that is left out when it would have been answered."""
        if step.name in self.ablation.steps or not players(self.method_after_removal, step.role):
            return True
        is_left_out = self.state.round + self.skipped_rounds in self.ablation.rounds
        self.skipped_rounds += is_left_out and opens_round(self.method, step)
        return is_left_out

    async def _holds(self, condition: str) -> bool:
        """Evaluate a condition of a loop. If it is met, it is why the debate stopped, unless a round follows."""
        if condition == NEVER:
            return False
        now = self._snapshot(self.method_after_removal, "condition", *self._now())
        is_met = await condition_holds(now, condition)
        if is_met:
            self.stop = _STOPS.get(condition, "condition")
        return is_met

    async def _fill_role(self, rule: Choose) -> None:
        """Fill a role. Debaters that are not chosen again leave the debate; the others keep their groups."""
        choice = await fill_role(self._snapshot(self.method_after_removal, "choice", *self._now()), rule)
        role_agents = {**self.method.role_agents, rule.role: tuple(self.agents[name] for name in choice.chosen)}
        self.method = replace(self.method, role_agents=role_agents)
        self.method_after_removal = without_agents(self.method, self.ablation)
        self.state.choices.append(choice)
        self.state.remaining = tuple(agent.name for agent in debating_agents(self.method_after_removal))

    def _now(self) -> tuple[int, int, int]:
        return self.state.round, len(self.state.turns), len(self.state.choices)

    def _snapshot(self, method: Method, purpose: str, *parts: str | int, step: str = "") -> Snapshot:
        """Return what expressions are computed from now; purpose and parts identify its draws."""
        return Snapshot(
            method, debating_agents(method), self.state, self.groups, self.ports.similarity, self.quotes,
            lambda: self._chance(purpose, *parts), step, self.passes,
        )  # fmt: skip

    # ------------------------------------------------------------ one step
    async def _speak(self, step: Step) -> None:
        await yield_to_others()
        execution = self.state.executions
        if self.through is not None and execution > self.through:
            raise _Enough
        names = set(players(self.method_after_removal, step.role))
        now_round = self.state.round + self.skipped_rounds
        silent = {name for name in names if f"{name}@{now_round}" in self.ablation.turns}
        agents = [agent for agent in self.method_after_removal.role_agents[step.role] if agent.name in names - silent]
        self.skipped_rounds += bool(silent) and not agents and opens_round(self.method, step)
        # Weights are among the remaining agents; a fixed graph is made for all agents, so that it does not change.
        method = self.method_after_removal if isinstance(step.hears, Sparse) else self.method
        now = self._snapshot(method, "edges", self.state.round, step.name, execution, step=step.name)
        graph = await step_graph(now, step)
        if self.ablation != NOTHING:
            graph = without_edges(graph, step, self.ablation, self.groups, silent)
        subjects = players(self.method, step.of) if step.of else None
        calls = planned_turns(step, agents, graph, subjects, items_of(step, self.question, self.state, self.quotes))
        planned = [without_heard(call, step, self.ablation) for call in calls]
        for batch in [[call] for call in planned] if step.order == "sequential" else [planned]:
            self.state.add(await self._speak_at_once(step, batch, execution))
        if not isinstance(step.hears, Nobody) and graph.speakers:
            self.state.graphs.append(shown_graph(graph, step, self.state, execution))
        if planned and opens_round(self.method, step):
            self.state.close_round(execution)
            self.stop = "rounds"  # an earlier consensus was not the end

    async def _speak_at_once(self, step: Step, batch: Sequence[PlannedTurn], execution: int) -> list[Turn]:
        """Render the prompts of some calls on the same state, then make all calls."""
        prepared: list[tuple[PlannedTurn, View, Call]] = []
        for planned in batch:
            shown = select_turns(step, planned, self.state, self.quotes)
            if self.placebos is not None:
                shown = await self.placebos.replace_words(step, planned.speaker.name, shown)
            now = self.state, self.question, self.quotes, self.groups
            view = build_view(step, planned, self.method, *now, shown)
            prompt = step.prompt_of(planned.speaker.name, roles_of(self.method, planned.speaker.name))
            messages = self.ports.render(prompt, view.variables)
            model = AS_WRITTEN if prompt in step.said else step.model_of(planned.speaker)
            calls = [
                self._call(planned.speaker, model, messages, view.variables["question"]) for _ in range(step.samples)
            ]
            if self.placebos is not None:
                self.placebos.note_call(step, planned.speaker.name, calls[0])
            prepared += [(planned, view, call) for call in calls]
        turns = await gather_all([
            self._turn(number, execution, step, *call)
            for number, call in enumerate(prepared, start=len(self.state.turns))
        ])  # fmt: skip
        return unified(turns, self.state.turns, self.ports.reader)

    def _call(self, agent: Agent, model: Model, messages: tuple[Message, ...], question: Question) -> Call:
        sent = (agent.name, tuple((message["role"], message["content"]) for message in messages))
        repeat = self.sent[sent]
        self.sent[sent] += 1
        seed = call_seed(self.seed, self.replicate, self.question.id, agent.name, repeat)
        shared = length_of_question(question, messages[-1]["content"])
        return Call(model, messages, seed, self.question.images, shared)

    async def _turn(
        self, number: int, execution: int, step: Step, planned: PlannedTurn, view: View, call: Call
    ) -> Turn:
        if number < len(self.given):
            return _checked(self.given[number], step, planned)
        heard, recalled = view.shown()
        requests: tuple[ToolRequest, ...] = ()
        tools = () if call.model.is_tool else step.tools_of(planned.speaker.name)
        if tools:
            explain = partial(self._explained, view)
            call, reply, requests = await ask_with_tools(call, tools, step.uses, explain, self.ports)
        else:
            reply = await self.ports.ask(call)
        if reply.error is None:
            turns = self.state.turns
            shown = options_shown(turns, planned.speaker.name, planned.about, heard, recalled)
            options = [turns[number] for number in shown]
            reading, beside = read_reply(self.ports.reader, step, reply.text, options, self.state.numbers)
        else:
            reading, beside = Reading(None, f"{NO_REPLY}: {reply.error}"), dict.fromkeys(step.beside)
        measure = self.method.confidence if step.reads == "answer" else STATED
        measured = await measure_confidence(measure, call, reply, reading.value, view.variables, self.ports)
        confidence = reading.confidence if measured is None else measured.confidence
        return Turn(
            turn=number,
            execution=execution,
            round=self.state.round,
            step=step.name,
            reads=step.reads,
            speaker=planned.speaker.name,
            about=planned.about,
            heard=heard,
            recalled=recalled,
            text=reply.text,
            answer=None if step.reads in ("summary", "comment") else reading.value,
            unparsed=reading.unparsed,
            confidence_stated=reading.confidence,
            confidence=recalibrate(confidence, self.method.recalibration if step.reads == "answer" else ()),
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            call=reply.key,
            reasoning=reply.reasoning,
            reasoning_tokens=reply.reasoning_tokens,
            ended=None if reply.finish_reason == "stop" else reply.finish_reason,
            beside=beside,
            measured=measured,
            placebos=view.shown_placebos(),
            requests=requests,
        )

    def _explained(self, view: View, tools: Sequence[OfferedTool]) -> str:
        """Return the text that tells a model how to use tools."""
        message = self.ports.render(TOOLS_PROMPT, {**view.variables, "tools": tools})[-1]
        return str(message["content"])

    def _chance(self, purpose: str, *parts: str | int) -> random.Random:
        return seeded_random(purpose, self.seed, self.replicate, self.question.id, *parts)


def _is_loop(part: Repeat) -> bool:
    """Return whether a part of a schedule is a loop, and not only items under a condition."""
    return part.times > 1 or part.unless == NEVER


def _checked(given: Turn, step: Step, planned: PlannedTurn) -> Turn:
    """Return a given turn if it is the next one of the schedule."""
    if (given.step, given.speaker, given.about) != (step.name, planned.speaker.name, planned.about):
        raise DebateError(
            f"given turn {given.turn} is of {given.speaker!r} in step {given.step!r}, "
            f"but {planned.speaker.name!r} speaks next, in step {step.name!r}: "
            "branch with the method that made the turns"
        )
    return given
