"""hidiv fit: fit a model to data."""

from __future__ import annotations

import click

from hidiv.cli.inputs import data_option, json_option, read_model, read_tree, read_values_of, tree_option
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json
from hidiv.errors import counted


@click.command()
@data_option
@click.option("--states", type=click.IntRange(min=1), metavar="K", help="Number of hidden states.")
@click.option(
    "--emission",
    default="gaussian",
    show_default=True,
    metavar="FAMILY",
    help="Emission family, by its name in files; binomial, product and mixture need --start.",
)
@tree_option
@click.option("--lengths", metavar="N,N,...", help="Cut the rows into chains of these lengths.")
@click.option("--level", is_flag=True, help="Give every level of the tree its own parameters.")
@click.option("--end", is_flag=True, help="Fit the probabilities that a chain ends, too.")
@click.option("--start", metavar="A.json", help="Start from this model instead of searching.")
@click.option("--n-init", type=click.IntRange(min=1), default=10, show_default=True, help="Number of random starts.")
@click.option(
    "--pseudo-count",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Number of observations added to every state.",
)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=1e-6,
    show_default=True,
    help="Stop when the log-likelihood gains less than this share of its size.",
)
@click.option(
    "--max-iter", type=click.IntRange(min=0), default=500, show_default=True, help="Largest number of iterations."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random starts.")
@click.option("-o", "--out", required=True, metavar="A.json", help="Model file to write.")
@json_option
def fit(
    data: str,
    states: int | None,
    emission: str,
    tree_text: str | None,
    lengths: str | None,
    level: bool,
    end: bool,
    start: str | None,
    n_init: int,
    pseudo_count: float,
    tol: float,
    max_iter: int,
    seed: int | None,
    out: str,
    as_json: bool,
) -> None:
    """Fit a model by expectation-maximisation and write it to a file.

    \b
    Example:
      hidiv fit --data x.csv --states 3 --emission gaussian -o A.json
    """
    from hidiv.errors import HidivError, InvalidModel, refuse
    from hidiv.files.disk import check_target
    from hidiv.files.saving import save
    from hidiv.fitting.fit import fit as fitted

    check_target(out)
    if states is None and start is None:
        refuse(InvalidModel, "--states", "is needed without --start")
    cut = None
    if lengths is not None:
        parts = [part.strip() for part in lengths.split(",")]
        if not all(part.isdecimal() for part in parts):
            refuse(HidivError, f"--lengths {lengths}", "are whole numbers with commas between them")
        cut = [int(part) for part in parts]
    values = read_values_of(data)
    result = fitted(
        values.evidence,
        None if tree_text is None else read_tree(tree_text),
        states,
        emission,
        lengths=cut,
        group="level" if level else None,
        start=None if start is None else read_model(start),
        n_init=n_init,
        tol=tol,
        max_iter=max_iter,
        seed=seed,
        end=end,
        pseudo_count=pseudo_count,
    )
    save(result.model, out)
    if as_json:
        print_json(result.to_dict() | {"columns": list(values.used)})
        return
    say(f"columns: {', '.join(values.used)}" + "".join(f"; left out: {each}" for each in values.left_out))
    say(f"{result.model.headline} -> {out}")
    say(
        f"log-likelihood {result.log_likelihood:.6f}, BIC {result.bic:.3f}, {counted(result.n_parameters, 'parameter')}"
    )
    say(f"{counted(result.n_iter, 'iteration')}, {'converged' if result.converged else 'not converged'}")
    for note in result.notes:
        say(f"note: {note}")
