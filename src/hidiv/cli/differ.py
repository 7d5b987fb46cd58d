"""hidiv differ: do groups of sequences or trees differ?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hidiv.cli.inputs import FILE, json_option, read_model
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="A.csv B.csv ...")
@click.option(
    "--states", metavar="K or K,K,...", help="Number of states; of several the best by BIC. Default: 1,2,3,4."
)
@click.option("--emission", metavar="FAMILY", help="Emission family. Default: categorical for text, else gaussian.")
@click.option("--model", metavar="M.json", help="Take the scores at this model in place of a fit to all data.")
@click.option("--group", metavar="COLUMN", help="The column that tells the groups apart, in place of the files.")
@click.option("--sequence", metavar="COLUMN", help="The column that tells the sequences of a file apart.")
@click.option(
    "--column",
    default="upos",
    show_default=True,
    metavar="COLUMN",
    help="Of CoNLL-U files, the column whose words are the symbols.",
)
@click.option("--block", type=click.IntRange(min=2), metavar="N", help="Cut chains into pieces of at least N steps.")
@click.option("--strata", type=click.Choice(["length"]), help="Deal sequences anew among those of similar length.")
@click.option("--permutations", type=click.IntRange(min=1), default=9999, show_default=True, help="Times to deal anew.")
@click.option("--n-init", type=click.IntRange(min=1), default=10, show_default=True, help="Starts of the pooled fit.")
@click.option("--processes", is_flag=True, help="Deal sequences anew in processes.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the fit and of the permutations.")
@click.option("--plot", metavar="d.png", help="Save a picture: the test and the divergences.")
@click.option("-o", "--out", metavar="d.json", help="Save the result, models included.")
@json_option
def differ(
    files: tuple[str, ...],
    states: str | None,
    emission: str | None,
    model: str | None,
    group: str | None,
    sequence: str | None,
    column: str,
    block: int | None,
    strata: str | None,
    permutations: int,
    n_init: int,
    processes: bool,
    seed: int | None,
    plot: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Test whether groups of sequences or trees differ, and by how much.

    Every file is a group. CSV files have a row for each step; --sequence names the column that tells sequences apart.
    Every sentence of a CoNLL-U file (.conllu) and every line of a Newick file (.nwk) is a tree of symbols.

    \b
    Example:
      hidiv differ old.csv new.csv --sequence id --states 3
    """
    from hidiv.answers.differ import differ as differs
    from hidiv.cli.pictures import check_picture, save_picture
    from hidiv.files.disk import check_target
    from hidiv.files.saving import save

    if plot is not None:
        check_picture(plot)
    if out is not None:
        check_target(out)
    n_states = _states(states)
    groups, trees = _groups(files, group, sequence, column)
    if block is None and len(groups) > 1:
        _check_several(groups)
    result = differs(
        groups,
        trees,
        n_states=n_states,
        emission=emission,
        model=None if model is None else read_model(model),
        permutations=permutations,
        strata=strata,
        block=block,
        seed=seed,
        executor="processes" if processes else None,
        n_init=n_init,
    )
    if out is not None:
        save(result, out)
    if plot is not None:
        from hidiv.plots import difference

        save_picture(difference(result), plot)
    if as_json:
        print_json(result.to_dict())
    else:
        say(result.summary())


def _states(text: str | None) -> Any:
    """A number of states, several, or None."""
    from hidiv.errors import HidivError, refuse

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        refuse(HidivError, f"--states {text}", "must be a whole number from 1, or several with commas between them")
    return int(parts[0]) if len(parts) == 1 else [int(part) for part in parts]


def _check_several(groups: dict[str, list[Any]]) -> None:
    """Refuse a group of one sequence, which cannot be dealt anew, naming the options that help."""
    from hidiv.errors import HidivError, refuse

    for name, items in groups.items():
        if len(items) == 1:
            refuse(
                HidivError,
                name,
                "holds one sequence, and whole sequences are dealt anew to the groups",
                remedy="tell sequences apart with --sequence COLUMN, or cut long ones with --block STEPS",
            )


def _groups(
    files: tuple[str, ...], group: str | None, sequence: str | None, column: str
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Name -> sequences, and name -> trees."""
    from hidiv.files.csv_values import Values, read_values
    from hidiv.files.sequences import read_sequences, split_by

    groups: dict[str, list[Any]] = {}
    trees: dict[str, list[Any]] = {}
    for path in files:
        if group is None:
            stem = Path(path).stem
            name = stem if [Path(other).stem for other in files].count(stem) == 1 else path
            groups[name], trees[name] = read_sequences(path, sequence, column)
            continue
        values = read_values(path)
        left = tuple(used for used in values.used if used != group)
        for name, known in split_by(values, group, path).items():
            one = Values(known, left, ())
            items = [known] if sequence is None else list(split_by(one, sequence, path).values())
            groups.setdefault(name, []).extend(items)
            trees.setdefault(name, []).extend([None] * len(items))
    return groups, trees
