"""The debate engine: a method and a question in, a debate out.

Pure: it reaches the world through injected hands alone (ask, render, reader, similarity). Same replies, same debate.
The transcript is the only state, so that a debate can branch anywhere: turns handed in as `given` are taken in
place of asking, and the debate goes on where they end.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from cortexdsl.debate.chance import call_seed, generator
from cortexdsl.debate.confidence import recalibrate
from cortexdsl.debate.decide import decide
from cortexdsl.debate.measuring import measured
from cortexdsl.debate.roles import members, numbered, opens_round, players, roles_of
from cortexdsl.debate.talk.addresses import addresses, as_shown, draw_groups, is_worth_recording, speaking, step_graph
from cortexdsl.debate.talk.hearing import read
from cortexdsl.debate.talk.transcript import Transcript, all_at_once, shown_to_choose
from cortexdsl.debate.talk.views import Address, Quotes, View, view
from cortexdsl.debate.together import all_of, in_turn
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.debate.weights.sparsify import choose, holds
from cortexdsl.debate.without import deaf, present, without_edges
from cortexdsl.errors import DebateError
from cortexdsl.terms import (
    AS_WRITTEN,
    NEVER,
    NO_REPLY,
    NOTHING,
    STATED,
    Agent,
    Call,
    Choose,
    Debate,
    Hands,
    Item,
    Message,
    Method,
    Model,
    Question,
    Reading,
    Repeat,
    Site,
    Sparse,
    Step,
    Turn,
    Without,
)


async def debate(
    method: Method,
    question: Question,
    hands: Hands,
    *,
    seed: int,
    replicate: int,
    given: Sequence[Turn] = (),
    without: Without = NOTHING,
) -> Debate:
    """Run one debate.

    Parameters
    ----------
    method : Method
        What is run.
    question : Question
    hands : Hands
        The injected functions; whatever they raise ends the debate, once all calls of the step are back.
    seed, replicate : int
        Of the experiment; every draw derives from them and the question.
    given : sequence of Turn
        The first turns, taken as they are in place of asking: a branch of an earlier debate.
    without : Without
        What is left out of it. Seeds do not depend on that: a call whose messages stay the same stays the same call.

    Returns
    -------
    Debate

    Raises
    ------
    DebateError
        The protocol cannot go on: a weight is no number, a graph does not fit the agents, or a given turn is not
        one of its schedule.
    """
    return await _Run(method, question, hands, seed, replicate, given, without).whole()


class _Run:
    """One debate under way."""

    def __init__(
        self,
        method: Method,
        question: Question,
        hands: Hands,
        seed: int,
        replicate: int,
        given: Sequence[Turn],
        without: Without,
    ) -> None:
        self.method, self.question, self.hands = method, question, hands
        self.seed, self.replicate, self.given, self.without = seed, replicate, given, without
        self.present = present(method, without)
        self.left_out = 0  # rounds so far
        names = tuple(agent.name for agent in members(method))
        there = tuple(agent.name for agent in members(self.present))
        self.transcript = Transcript(names, members=there, own_numbers=numbered(method), observe=hands.observe)
        self.quotes = Quotes(method.passes, hands.reader)
        self.sent: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.everybody = tuple({a.name: a for agents in method.cast.values() for a in agents}.values())
        self.groups = draw_groups(method, names, self._chance("groups"))
        self.stop: Literal["consensus", "agreed", "condition", "rounds"] = "rounds"

    async def whole(self) -> Debate:
        await self._run(self.method.schedule)
        if len(self.given) > len(self.transcript.turns):
            raise DebateError(
                f"{len(self.given)} turns are given, but the debate ends after {len(self.transcript.turns)}"
            )
        decision = decide(self.present, self.transcript.turns, self.transcript.members, lambda: self._chance("tie"))
        return Debate(
            question_id=self.question.id,
            agents=tuple(agent for agent in self.everybody if agent.name not in self.without.agents),
            turns=tuple(self.transcript.turns),
            graphs=tuple(self.transcript.graphs),
            answer=decision.answer,
            votes=decision.votes,
            was_tied=decision.was_tied,
            rounds=max(0, len(self.transcript.answered) - 1),
            stop=self.stop,
            images=tuple(image.digest for image in self.question.images),
            choices=tuple(self.transcript.choices),
            standing=() if all_at_once(self.transcript, self.without.agents) else self.transcript.standing(),
        )

    # ------------------------------------------------------------ schedule
    async def _run(self, schedule: Sequence[Item], in_loop: bool = False) -> None:
        for part in schedule:
            if isinstance(part, Choose):
                await self._choose(part)
            elif isinstance(part, str):
                step = self.method.steps[part]
                if not self._is_capped(step, in_loop) and not self._is_left_out(step):
                    await self._speak(step)
            elif not await self._holds("unless", part, part.unless):
                for _ in range(part.times):
                    before = self.left_out
                    await self._run(part.body, in_loop=True)
                    if self.left_out == before and await self._holds("until", part, part.until):
                        break

    def _is_capped(self, step: Step, in_loop: bool) -> bool:
        """Say whether the cap on rounds silences a step: it ends every loop, and lets what concludes a debate pass."""
        cap, round_ = self.method.rounds_cap, self.transcript.round + self.left_out
        return cap is not None and round_ >= cap and (in_loop or opens_round(self.method, step))

    def _is_left_out(self, step: Step) -> bool:
        """Say whether a step is not spoken here; a round that is left out is counted when it would have been given."""
        if step.name in self.without.steps or not speaking(self.present, step):
            return True
        is_left_out = self.transcript.round + self.left_out in self.without.rounds
        self.left_out += is_left_out and opens_round(self.method, step)
        return is_left_out

    async def _holds(self, word: Literal["until", "unless"], loop: Repeat, condition: str) -> bool:
        """Evaluate a condition of a loop; one that holds is why the debate stopped, until a round follows."""
        if condition == NEVER:
            return False
        is_met = await holds(self._scene(self.present, "condition", *self._now()), Site(word, loop, condition))
        if is_met:
            self.stop = condition if condition in ("consensus", "agreed") else "condition"  # type: ignore[assignment]
        return is_met

    async def _choose(self, rule: Choose) -> None:
        """Fill a role anew; who is not chosen among those who debate has left the debate."""
        choice = await choose(self._scene(self.present, "choice", *self._now()), rule)
        by_name = {agent.name: agent for agent in self.everybody}
        cast = {**self.method.cast, rule.role: tuple(by_name[name] for name in choice.chosen)}
        self.method = replace(self.method, cast=cast)
        self.present = present(self.method, self.without)
        self.transcript.choices.append(choice)
        self.transcript.members = tuple(agent.name for agent in members(self.present))

    def _now(self) -> tuple[int, int, int]:
        return self.transcript.round, len(self.transcript.turns), len(self.transcript.choices)

    def _scene(self, method: Method, purpose: str, *parts: str | int, step: str = "") -> Scene:
        """Return what expressions look at now; `parts` say which draw theirs is."""
        return Scene(
            method, members(method), self.transcript, self.groups, self.hands.similarity, self.quotes,
            lambda: self._chance(purpose, *parts), step,
        )  # fmt: skip

    # ------------------------------------------------------------ one step
    async def _speak(self, step: Step) -> None:
        await in_turn()
        execution = self.transcript.executions
        names = set(speaking(self.present, step))
        agents = [agent for agent in self.present.cast[step.role] if agent.name in names]
        # Those who are there weigh each other; a fixed layout is made for all, so that it stays as it was.
        method = self.present if isinstance(step.hears, Sparse) else self.method
        graph = await step_graph(
            self._scene(method, "edges", self.transcript.round, step.name, execution, step=step.name), step
        )
        if self.without != NOTHING:
            graph = without_edges(graph, step, self.without, self.groups)
        of = players(self.method, step.of) if step.of else None
        calls = [deaf(address, step, self.without) for address in addresses(step, agents, graph, of)]
        for batch in [[call] for call in calls] if step.order == "sequential" else [calls]:
            self.transcript.add(await self._utter(step, batch, execution))
        if is_worth_recording(step) and graph.speakers:
            self.transcript.graphs.append(as_shown(graph, step, self.transcript, execution))
        if calls and opens_round(self.method, step):
            self.transcript.close_round(execution)
            self.stop = "rounds"  # an earlier consensus was not the end

    async def _utter(self, step: Step, batch: Sequence[Address], execution: int) -> list[Turn]:
        """Let some speak at once: all prompts are made on the state before them, then all are asked."""
        prepared: list[tuple[Address, View, Call]] = []
        for address in batch:
            seen = view(step, address, self.method, self.transcript, self.question, self.quotes, self.groups)
            prompt = step.prompt_of(address.speaker.name, roles_of(self.method, address.speaker.name))
            messages = self.hands.render(prompt, seen.variables)
            model = AS_WRITTEN if prompt in step.said else address.speaker.model
            prepared += [(address, seen, self._call(address.speaker, model, messages)) for _ in range(step.draws)]
        return await all_of([
            self._turn(number, execution, step, *utterance)
            for number, utterance in enumerate(prepared, start=len(self.transcript.turns))
        ])  # fmt: skip

    def _call(self, agent: Agent, model: Model, messages: tuple[Message, ...]) -> Call:
        sent = (agent.name, tuple((message["role"], message["content"]) for message in messages))
        repeat = self.sent[sent]
        self.sent[sent] += 1
        seed = call_seed(self.seed, self.replicate, self.question.id, agent.name, repeat)
        return Call(model, messages, seed, self.question.images)

    async def _turn(self, number: int, execution: int, step: Step, address: Address, seen: View, call: Call) -> Turn:
        if number < len(self.given):
            return _fitting(self.given[number], step, address)
        heard, recalled = seen.shown()
        reply = await self.hands.ask(call)
        if reply.error is None:
            turns = self.transcript.turns
            among = shown_to_choose(turns, address.speaker.name, address.about, heard, recalled)
            speakers = [turns[number].speaker for number in among]
            reading, beside = read(self.hands.reader, step, reply.text, speakers, self.transcript.numbers)
        else:
            reading, beside = Reading(None, f"{NO_REPLY}: {reply.error}"), dict.fromkeys(step.beside)
        how = self.method.confidence if step.reads == "answer" else STATED
        found = await measured(how, call, reply, reading.value, seen.variables, self.hands)
        confidence = reading.confidence if found is None else found.confidence
        return Turn(
            turn=number,
            execution=execution,
            round=self.transcript.round,
            step=step.name,
            reads=step.reads,
            speaker=address.speaker.name,
            about=address.about,
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
            measured=found,
        )

    def _chance(self, purpose: str, *parts: str | int) -> random.Random:
        return generator(purpose, self.seed, self.replicate, self.question.id, *parts)


def _fitting(given: Turn, step: Step, address: Address) -> Turn:
    """Return a given turn if it is the one that the schedule asks for here."""
    if (given.step, given.speaker, given.about) != (step.name, address.speaker.name, address.about):
        raise DebateError(
            f"given turn {given.turn} is of {given.speaker!r} in step {given.step!r}, "
            f"where {address.speaker.name!r} speaks in step {step.name!r}: branch with the method that made the turns"
        )
    return given
