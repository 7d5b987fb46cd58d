"""hidiv fit: fit a model to data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hidiv.cli.inputs import data_option, json_option, read_model, read_tree, read_values_of, tree_option
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json
from hidiv.errors import counted

if TYPE_CHECKING:
    from hidiv.files.csv_values import Values


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
@click.option("--by", metavar="COLUMN", help="Fit a model for each value of this column; -o is then an .npz file.")
@click.option("--store", metavar="FOLDER", help="With --by: keep finished fits here, and go on from them.")
@click.option("--processes", is_flag=True, help="With --by: fit in processes.")
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
    by: str | None,
    store: str | None,
    processes: bool,
    out: str,
    as_json: bool,
) -> None:
    """Fit a model by expectation-maximisation and write it to a file.

    \b
    Example:
      hidiv fit --data x.csv --states 3 --emission gaussian -o A.json
      hidiv fit --data x.csv --by patient --states 3 -o models.npz
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
    if by is None and (store is not None or processes):
        refuse(HidivError, "--store" if store is not None else "--processes", "is for many models", remedy="give --by")
    if by is not None:
        if cut is not None or tree_text is not None:
            refuse(HidivError, "--by", "fits chains, one for each value of the column; leave out --lengths and --tree")
        how = {
            "start": None if start is None else read_model(start), "n_init": n_init, "tol": tol, "max_iter": max_iter,
            "end": end, "pseudo_count": pseudo_count, "group": "level" if level else None,
        }  # fmt: skip
        _fit_by(values, by, states, emission, how, (data, store, processes, seed, out, as_json))
        return
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


def _fit_by(
    values: Values,
    by: str,
    states: int | None,
    emission: str,
    how: dict[str, Any],
    where: tuple[str, str | None, bool, int | None, str, bool],
) -> None:
    """Fit a model for each value of a column, and write all of them as a collection."""
    from hidiv.answers.fit_many import fit_many
    from hidiv.errors import InvalidFile, refuse
    from hidiv.files.sequences import split_by

    data, store, processes, seed, out, as_json = where
    if not out.lower().endswith(".npz"):
        refuse(InvalidFile, out, "many models are written as NPZ", remedy="name the file .npz")
    parts = split_by(values, by, data)
    executor = "processes" if processes else None
    count = states if states is not None else how["start"].n_states
    collection = fit_many(parts, None, count, emission, executor=executor, store=store, seed=seed, **how)
    collection.save(out)
    if as_json:
        fits = {name: each.to_dict() for name, each in collection.fits.items()}
        print_json({"format": "hidiv.fits", "version": 1, "by": by, "fits": fits, "failures": collection.failures})
        return
    width = max(len(name) for name in collection.fits)
    for name, each in collection.fits.items():
        ending = "" if each.converged else ", not converged"
        say(f"{name:<{width}}  log-likelihood {each.log_likelihood:.6f}, BIC {each.bic:.3f}{ending}")
    for name, why in collection.failures.items():
        say(f"{name}: failed: {why}")
    say(f"{counted(len(collection), 'model')} -> {out}")
