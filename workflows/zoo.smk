# The small models, made from nothing but their recipes and seeds (docs/benchmarks/zoo-making.md):
#
#   snakemake --snakefile workflows/zoo.smk --cores 2
#   snakemake --snakefile workflows/zoo.smk --cores 2 --config recipes=cortexdsl_tiny/zoo/miniature.yaml
#
# They are written to zoo/<recipes>/shipped/. Training needs the extra: pip install ".[zoo]".

import sys
from pathlib import Path
from shlex import quote

from cortexdsl.import_path import protect_children
from cortexdsl_tiny.zoo.recipes import FILE, read_book

BOOK = Path(config.get("recipes", FILE)).absolute()
SAID = read_book(BOOK)
PARTS = sorted(
    {part for stage in (*SAID["stages"], SAID["practice"]) for part in stage["lessons"]}
)
TAUGHT = sorted({part for stage in SAID["stages"] for part in stage["lessons"]})
PRACTISED = [name for name, said in SAID["models"].items() if said.get("practice")]


workdir: config.get("zoo", f"zoo/{BOOK.stem}")


protect_children()

# Steps run by the Python that runs Snakemake, whether or not its environment is active.
shell.prefix(
    f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH; "
)


wildcard_constraints:
    part="|".join(SAID["lessons"]),
    model="|".join(SAID["models"]),


def lesson_options(said):
    """Return what a part of the lessons says beyond its cells, as options."""
    tasks = ["--tasks", *said["tasks"]] if "tasks" in said else []
    flags = {"held_out": "--held-out", "guided": "--guided"}
    return tasks + [flag for word, flag in flags.items() if said.get(word)]


rule zoo:
    default_target: True
    input:
        "shipped/digests.json",
    localrule: True


rule questions:
    output:
        spec="questions/lessons.yaml",
    log:
        "logs/questions.log",
    conda:
        "../environment.yml"
    params:
        folder=lambda wildcards, output: str(Path(output.spec).parent),
        seed=SAID["questions"]["seed"],
        size=SAID["questions"]["size"],
    shell:
        "python -m cortexdsl_tiny.zoo questions {params.folder:q} --seed {params.seed} --size {params.size}"
        " > {log:q} 2>&1"


rule lessons:
    input:
        spec="questions/lessons.yaml",
    output:
        "lessons/{part}.jsonl",
    log:
        "logs/lessons-{part}.log",
    conda:
        "../environment.yml"
    params:
        folder=lambda wildcards, input: str(Path(input.spec).parent),
        said=lambda wildcards: SAID["lessons"][wildcards.part],
        options=lambda wildcards: lesson_options(SAID["lessons"][wildcards.part]),
    shell:
        "python -m cortexdsl_tiny.zoo lessons {params.folder:q} --cells {params.said[cells]}"
        " --size {params.said[size]} --seed {params.said[seed]} {params.options} --out {output:q}"
        " > {log:q} 2>&1"


rule drills:
    output:
        "lessons/drills.jsonl",
    log:
        "logs/lessons-drills.log",
    conda:
        "../environment.yml"
    params:
        said=SAID["drills"],
    shell:
        "python -m cortexdsl_tiny.zoo drills --size {params.said[size]} --seed {params.said[seed]} --out {output:q}"
        " > {log:q} 2>&1"


rule pieces:
    input:
        expand("lessons/{part}.jsonl", part=TAUGHT),
    output:
        "tokenizer.json",
    log:
        "logs/pieces.log",
    conda:
        "../environment.yml"
    params:
        said=SAID["vocabulary"],
    shell:
        "python -m cortexdsl_tiny.zoo pieces {input:q} --size {params.said[size]}"
        " --phrases {params.said[phrases]} --out {output:q} > {log:q} 2>&1"


# One thread per model: two models in parallel finish sooner than one after the other with two threads each.
rule teach:
    input:
        pieces="tokenizer.json",
        lessons=expand("lessons/{part}.jsonl", part=PARTS),
    output:
        "taught/{model}/model.safetensors",
    log:
        "logs/teach-{model}.log",
    conda:
        "../environment.yml"
    params:
        book=str(BOOK),
        recipe=lambda wildcards: SAID["models"][wildcards.model],
        stages=SAID["stages"],
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        parts=[f"{part}=lessons/{part}.jsonl" for part in PARTS],
    shell:
        "python -m cortexdsl_tiny.zoo teach {wildcards.model} --recipes {params.book:q}"
        " --lessons {params.parts:q} --pieces {input.pieces:q} --out {params.folder:q}"
        " > {log:q} 2>&1"


rule practise:
    input:
        begun="taught/{model}/model.safetensors",
        pieces="tokenizer.json",
        lessons=expand("lessons/{part}.jsonl", part=PARTS),
    output:
        "practised/{model}/model.safetensors",
    log:
        "logs/practise-{model}.log",
    conda:
        "../environment.yml"
    params:
        book=str(BOOK),
        recipe=lambda wildcards: SAID["models"][wildcards.model],
        practice=SAID["practice"],
        begun=lambda wildcards, input: str(Path(input.begun).parent),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        parts=[f"{part}=lessons/{part}.jsonl" for part in PARTS],
    shell:
        "python -m cortexdsl_tiny.zoo practise {wildcards.model} --begun {params.begun:q} --recipes {params.book:q}"
        " --lessons {params.parts:q} --pieces {input.pieces:q} --out {params.folder:q}"
        " > {log:q} 2>&1"


rule confidence:
    input:
        begun=lambda wildcards: (
            "practised/{model}/model.safetensors"
            if wildcards.model in PRACTISED
            else "taught/{model}/model.safetensors"
        ),
        exam="lessons/exam.jsonl",
        pieces="tokenizer.json",
        lessons=expand("lessons/{part}.jsonl", part=PARTS),
    output:
        "models/{model}/model.safetensors",
    log:
        "logs/confidence-{model}.log",
    conda:
        "../environment.yml"
    params:
        book=str(BOOK),
        said=SAID["confidence"],
        begun=lambda wildcards, input: str(Path(input.begun).parent),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        parts=[f"{part}=lessons/{part}.jsonl" for part in PARTS],
    shell:
        "python -m cortexdsl_tiny.zoo confidence {wildcards.model} --begun {params.begun:q} --exam {input.exam:q}"
        " --recipes {params.book:q} --lessons {params.parts:q} --pieces {input.pieces:q} --out {params.folder:q}"
        " > {log:q} 2>&1"


rule marks:
    input:
        model="models/{model}/model.safetensors",
        exam="lessons/marks.jsonl",
        debating=["lessons/debating.jsonl"] if "debating" in SAID["lessons"] else [],
    output:
        "marks/{model}.json",
    log:
        "logs/marks-{model}.log",
    conda:
        "../environment.yml"
    params:
        folder=lambda wildcards, input: str(Path(input.model).parent),
        debating=lambda wildcards, input: (
            f"--debating {input.debating[0]}" if input.debating else ""
        ),
    shell:
        "python -m cortexdsl_tiny.zoo examine {params.folder:q} --exam {input.exam:q} {params.debating}"
        " > {output:q} 2> {log:q}"


# The content of cortexdsl/models/tiny/shipped in the package.
rule ship:
    input:
        models=expand("models/{model}/model.safetensors", model=SAID["models"]),
        marks=expand("marks/{model}.json", model=SAID["models"]),
    output:
        "shipped/digests.json",
    log:
        "logs/ship.log",
    conda:
        "../environment.yml"
    params:
        models=lambda wildcards, input: [
            str(Path(path).parent) for path in input.models
        ],
        out=lambda wildcards, output: str(Path(output[0]).parent),
    shell:
        "python -m cortexdsl_tiny.zoo ship {params.models:q} --marks marks --out {params.out:q}"
        " > {log:q} 2>&1"
