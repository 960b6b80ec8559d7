"""The interface of this package to the core (`cortexdsl.plan.training.Trainer`); parts are imported when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cortexdsl.core import Method, Model, Question
from cortexdsl.engine.trajectories import BranchKind, Guide
from cortexdsl.language.methods.resolved_cells import ResolvedCell
from cortexdsl.language.spec import Spec
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.training import PlanWithTrainings, ResolvedLearning, Trainer
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates


class DebateTrainer:
    """Trains models from debates of their own."""

    def resolve(
        self, spec: Spec, arms: Sequence[ResolvedCell], tasks: Mapping[str, Task], templates: Templates, layout: Layout
    ) -> ResolvedLearning:
        """Resolve the entries of `train`."""
        from cortexdsl_train.resolution import resolve

        return resolve(spec, arms, tasks, templates, layout)

    def guides(
        self, task: Task, question: Question, guide: str, templates: Templates, seed: int
    ) -> dict[BranchKind, Guide]:
        """Return the guides of replies to a question."""
        from cortexdsl_train.trajectories import target_guides

        return target_guides(task, question, guide, templates, seed)

    def with_weights(self, method: Method) -> Method:
        """Return a method whose trained models carry the digest of their weights."""
        from cortexdsl_train.models import with_weights

        return with_weights(method)

    async def serve(self, plan: PlanWithTrainings, models: Iterable[Model]) -> None:
        """Have the servers of trained models load their adapters."""
        from cortexdsl_train.models import load_adapters

        await load_adapters(plan, models)


TRAINER: Trainer = DebateTrainer()
