"""hidiv cluster: which models belong together?"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from hidiv.cli.inputs import json_option, standard_input
from hidiv.cli.pictures import check_picture, save_picture
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json
from hidiv.errors import InvalidFile, refuse


@click.command()
@click.argument("matrix", metavar="D.csv")
@click.option(
    "--clusters",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of clusters; chosen by the silhouette if not given.",
)
@click.option(
    "--method",
    type=click.Choice(["average", "complete", "single", "medoids"]),
    default="average",
    show_default=True,
    help="Linkage, or k-medoids.",
)
@click.option(
    "--out", metavar="C.csv", help="Write the cluster, medoid and place on a map of every model to this CSV file."
)
@click.option("--plot", metavar="D.png", help="Save a plot of the matrix with its dendrogram.")
@json_option
def cluster(matrix: str, clusters: int | None, method: str, out: str | None, plot: str | None, as_json: bool) -> None:
    """Cluster models by a matrix of divergences that `hidiv pairwise` wrote (.csv or .npz).

    \b
    Example:
      hidiv cluster d.csv --clusters 3
    """
    from hidiv.comparison.clustering.cluster import cluster as group
    from hidiv.comparison.clustering.cluster import jeffreys
    from hidiv.comparison.clustering.embed import embed
    from hidiv.files.disk import check_target, write_text
    from hidiv.files.named_matrices import matrix_from_text, read_matrix

    if out is not None:
        check_target(out)
    if plot is not None:
        check_picture(plot)
    table = matrix_from_text(standard_input("the matrix"), "standard input") if matrix == "-" else read_matrix(matrix)
    values, names, columns, unit = table
    if names != columns:
        refuse(InvalidFile, matrix, "must have the same models in its rows and columns")
    clustering = group(values, clusters, method=method)  # type: ignore[arg-type]
    points = None
    with suppress(KeyboardInterrupt):  # the clusters are finished and worth printing
        points = embed(values, min(2, len(names)))
    if out is not None:
        write_text(out, _csv(names, clustering, points))
    if plot is not None:
        from hidiv.plots import pairwise as picture

        linkage = clustering.linkage if clustering.linkage is not None else group(values, 1).linkage
        axes: Any = picture(
            jeffreys(values), names=names, linkage=linkage, unit=unit, quantity="Jeffreys", symmetric=True
        )
        save_picture(axes, plot)
    members = [
        [names[i] for i, label in enumerate(clustering.labels) if label == c] for c in range(clustering.n_clusters)
    ]
    if as_json:
        described = {
            "format": "hidiv.clusters", "version": 1, "method": method, "silhouette": clustering.silhouette,
            "clusters": [
                {"medoid": names[int(i)], "models": inside}
                for i, inside in zip(clustering.medoids, members, strict=True)
            ],
            "map": None
            if points is None
            else {name: point.tolist() for name, point in zip(names, points, strict=True)},
        }  # fmt: skip
        print_json(described)
        return
    say(repr(clustering))
    for c, (i, inside) in enumerate(zip(clustering.medoids, members, strict=True)):
        say(f"\ncluster {c}, medoid {names[int(i)]}")
        for name in inside:
            say(f"  {name}")


def _csv(names, clustering, points) -> str:  # type: ignore[no-untyped-def]
    """One row for each model: its cluster, medoid, silhouette and place on the map."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "cluster", "medoid", "silhouette", "x", "y"])
    for i, (name, label, share) in enumerate(zip(names, clustering.labels, clustering.silhouettes, strict=True)):
        place = ("", "") if points is None else (*map(repr, points[i].tolist()), "0.0")[:2]
        writer.writerow([name, int(label), names[int(clustering.medoids[label])], repr(float(share)), *place])
    return text.getvalue()
