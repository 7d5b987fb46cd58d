"""The `hidiv` command: commands are looked up by name and imported when they run, so that help needs no numpy."""

from __future__ import annotations

import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

import click

from hidiv.cli.interrupts import EXIT_CODE, recorded_interrupts
from hidiv.errors import HidivError

PIPE_CODE = 141  # the code shells use for a command whose output is no longer read

# Command -> where it is, and its line in the list of commands.
COMMANDS = {
    "compare": ("hidiv.cli.compare:compare", "How different are two models?"),
    "posterior": ("hidiv.cli.posterior:posterior", "How far apart are their hidden states, given data?"),
    "influence": ("hidiv.cli.influence:influence", "Which observations decide the hidden states?"),
    "pairwise": ("hidiv.cli.pairwise:pairwise", "How different are all pairs of many models?"),
    "nearest": ("hidiv.cli.nearest:nearest", "Which models are nearest to one?"),
    "cluster": ("hidiv.cli.cluster:cluster", "Which models belong together?"),
    "differ": ("hidiv.cli.differ:differ", "Do groups of sequences or trees differ?"),
    "fit": ("hidiv.cli.fit:fit", "Fit a model to data."),
    "reduce": ("hidiv.cli.reduce:reduce", "How few states are enough?"),
    "sample": ("hidiv.cli.sample:sample", "Draw observations from a model."),
    "paper": ("hidiv.cli.paper:paper", "The paper's table and figures, each number with a verdict."),
    "report": ("hidiv.cli.report:report", "One page about two models, or about many."),
    "demo": ("hidiv.cli.demo:demo", "The paper's two chains and two trees."),
}


class Commands(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; a name that is nearly one is answered with that one."""
        name = args[0]
        near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        if name not in COMMANDS and near and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}; did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version and which kernels run."""
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    from hidiv.recursions.kernels import description

    click.echo(f"hidiv {version('hidiv')}\nkernels: {description()}")
    ctx.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and which kernels run.",
)
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Divergences of hidden Markov models on chains and trees."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run a command; bad input gives one sentence on stderr and exit code 2.

    An interrupted command prints or writes what is finished and then exits with 130.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the terminal cannot show
    with recorded_interrupts() as interrupts:
        try:
            code = commands(prog_name="hidiv", standalone_mode=False)
        except (HidivError, click.ClickException) as error:
            message = error.format_message() if isinstance(error, click.ClickException) else str(error)
            fail(" ".join(message.split()), 2)
        except (KeyboardInterrupt, click.Abort):
            fail("interrupted", EXIT_CODE)
        except MemoryError as error:
            fail(f"this needs more memory than there is; {' '.join(str(error).split()) or 'try less at once'}", 2)
        except BrokenPipeError:  # the reader has stopped, as `head` does: not an error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(PIPE_CODE)
        except OSError as error:
            fail(f"the system refuses: {error}", 2)
        if interrupts:
            fail("interrupted, what was finished by then was kept", EXIT_CODE)
        sys.exit(code)


def fail(message: str, code: int) -> NoReturn:
    """Print one sentence on stderr and exit with a code."""
    click.echo(f"hidiv: {message}", err=True)
    sys.exit(code)
