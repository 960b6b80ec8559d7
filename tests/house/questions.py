"""Ten questions of a user, the links to click from the start page of the manual, and what answers on the last page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the texts of the links that lead to its answer, and a text that only an answer contains."""

    question: str
    clicks: tuple[str, ...]
    answer: str


HOW_TO = "how-to pages"
QUESTIONS = (
    Question("How do I use my own vLLM server?", (HOW_TO, "Use your own vLLM server"), "api_base: env:QWEN_URL"),
    Question("How do I limit what a run may spend?", (HOW_TO, "Limit what a run may spend"), "limits: {dollars: 5"),
    Question(
        "How do I use any dataset of the Hugging Face hub?",
        (HOW_TO, "Use a built-in benchmark, or any dataset of the Hugging Face hub"),
        "hub: OWNER/NAME",
    ),
    Question("How do I compare two prompts?", (HOW_TO, "Compare two prompts"), "compare: grid, to: full"),
    Question("How do I ask only the failed calls again?", (HOW_TO, "Ask failed calls again"), "--errors-again"),
    Question("Which variable holds the key of Anthropic?", (HOW_TO, "Use Anthropic models"), "ANTHROPIC_API_KEY"),
    Question(
        "What does mean_score mean?",
        ("the language", "protocol"),
        "the mean score of an agent",
    ),
    Question("How do I cite an experiment?", (HOW_TO, "Share, archive and cite an experiment"), "CITATION.cff"),
    Question("What exactly was a model asked?", (HOW_TO, "See exactly what a model was asked"), "cortexdsl show mine"),
    Question("My run stopped. What now?", (HOW_TO, "Continue a run that stopped"), "Ctrl-C"),
)
