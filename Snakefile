# cortexdsl: experiments on debating language models, from spec to report.
#
#   cortexdsl run quickstart                              one experiment, by its name under specs/
#   snakemake --cores 4 --config spec=examples/groups     the same, with another experiment
#   snakemake --cores 4 results/quickstart/report.html    one of its products
#   snakemake --cores 4                                   all directly in specs/, if none of them may cost money


include: "workflows/common.smk"
include: "workflows/plan.smk"
include: "workflows/knowledge.smk"
include: "workflows/rounds.smk"
include: "workflows/debate.smk"
include: "workflows/learned.smk"
include: "workflows/look.smk"
include: "workflows/judge.smk"
include: "workflows/label.smk"
include: "workflows/score.smk"
include: "workflows/statistics.smk"
include: "workflows/whatif.smk"
include: "workflows/trajectories.smk"
include: "workflows/train.smk"
include: "workflows/report.smk"
include: "workflows/serve.smk"


rule all:
    default_target: True
    input:
        products,
        # Specs in specs/ that cannot run: the others run, and then this says what is wrong with them and fails.
        ["results/.mended"] if BROKEN else [],
    localrule: True


rule broken:
    input:
        products,
    output:
        "results/.mended",
    log:
        "results/broken-specs.log",
    localrule: True
    conda:
        "environment.yml"
    params:
        specs=list(BROKEN.values()),
    shell:
        "cortexdsl check {params.specs:q} > {log:q} 2>&1; exit 1"
