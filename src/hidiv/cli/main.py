"""The `hidiv` command. Asking for help imports no numpy: commands are looked up by name and imported when run."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from hidiv.cli.interrupts import EXIT_CODE, noted_interrupts
from hidiv.errors import HidivError

PIPE_CODE = 141  # what shells give a command whose reader has gone

# Command -> where it is, and what the list of commands says of it.
COMMANDS = {
    "compare": ("hidiv.cli.compare:compare", "How different are two models?"),
    "posterior": ("hidiv.cli.posterior:posterior", "How far apart are their hidden states, given data?"),
    "influence": ("hidiv.cli.influence:influence", "Which observations decide the hidden states?"),
    "pairwise": ("hidiv.cli.pairwise:pairwise", "How different are all pairs of many models?"),
    "nearest": ("hidiv.cli.nearest:nearest", "Which models are nearest to one?"),
    "cluster": ("hidiv.cli.cluster:cluster", "Which models belong together?"),
    "fit": ("hidiv.cli.fit:fit", "Fit a model to data."),
    "sample": ("hidiv.cli.sample:sample", "Draw observations from a model."),
    "paper": ("hidiv.cli.paper:paper", "The paper's table and figures, each number with a verdict."),
    "report": ("hidiv.cli.report:report", "One page about two models, or about many."),
    "demo": ("hidiv.cli.demo:demo", "The paper's two chains and two trees."),
}


class Commands(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    from hidiv.recursions.kernels import description

    click.echo(f"hidiv {version('hidiv')}\nkernels: {description()}")
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and which kernels run.",
)
def commands() -> None:
    """Divergences of hidden Markov models on chains and trees."""


def main() -> None:
    """Run a command; what is wrong with the input is one sentence on stderr and exit code 2.

    An interrupted command that kept what it had finished has printed or written it by now; its exit code is 130 all
    the same.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    with noted_interrupts() as interrupts:
        try:
            code = commands(prog_name="hidiv", standalone_mode=False)
        except (HidivError, click.ClickException) as error:
            said = error.format_message() if isinstance(error, click.ClickException) else str(error)
            fail(" ".join(said.split()), 2)
        except (KeyboardInterrupt, click.Abort):
            fail("interrupted", EXIT_CODE)
        except MemoryError as error:
            fail(f"this needs more memory than there is; {' '.join(str(error).split()) or 'try less at once'}", 2)
        except BrokenPipeError:  # who read from us has gone, as head does: nothing is wrong
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(PIPE_CODE)
        except OSError as error:
            fail(f"the system refuses: {error}", 2)
        if interrupts:
            fail("interrupted, what was finished by then was kept", EXIT_CODE)
        sys.exit(code)


def fail(said: str, code: int) -> NoReturn:
    """One sentence on stderr, and an exit code."""
    click.echo(f"hidiv: {said}", err=True)
    sys.exit(code)
