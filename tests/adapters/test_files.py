"""Files of jahmm and OpenAlea: what they say is what is read, through hd.load too; all else is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hidiv as hd
from hidiv.errors import InvalidFile, InvalidModel
from hidiv.files.formats import model_from_text
from tests.cli.running import hidiv
from tests.refusals import found_or_refused

JAHMM = """# two states
Hmm v1.0

NbStates 2

State
Pi 0.7
A 0.333 0.666
{0}

State
Pi 0.3
A 0.4 0.6
{1}
"""

SYMBOLS = ("IntegerOPDF [.2 .3 .5 ]", "IntegerOPDF [ .1 .1 .8 ]")
CHAIN = {"initial": [0.7, 0.3], "transition": [[0.333 / (0.333 + 0.666), 0.666 / (0.333 + 0.666)], [0.4, 0.6]]}


def jahmm(first, second):
    return JAHMM.format(first, second)


@pytest.mark.parametrize(
    ("states", "family"),
    [
        (SYMBOLS, hd.Categorical([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])),
        (("GaussianOPDF [ 1.2 .3 ]", "GaussianOPDF [-5.0E-1 2.]"), hd.Gaussian([1.2, -0.5], var=[0.3, 2.0])),
        (
            (
                "GaussianMixtureOPDF [ [ 1.2 2. ] [ .1 .9 ] [ .4 .6 ] ]",
                "GaussianMixtureOPDF [ [ 0 1 ] [ 1 2 ] [ 0.5 0.5 ] ]",
            ),
            hd.Mixture(
                [[0.4, 0.6], [0.5, 0.5]], [hd.Gaussian([1.2, 0], var=[0.1, 1]), hd.Gaussian([2, 1], var=[0.9, 2])]
            ),
        ),
        (
            (
                "MultiGaussianOPDF [ [ 5. 4. ] [ [ 1.2 .3 ] [ .3 4. ] ] ]",
                "MultiGaussianOPDF [ [ 0 1 ] [ [ 1 0 ] [ 0 1 ] ] ]",
            ),
            hd.Gaussian([[5, 4], [0, 1]], cov=[[[1.2, 0.3], [0.3, 4]], [[1, 0], [0, 1]]]),
        ),
    ],
    ids=["integer", "gaussian", "mixture", "multi-gaussian"],
)
def test_jahmm(states, family, tmp_path):
    path = tmp_path / "two.hmm"
    path.write_text(jahmm(*states))
    expected = hd.Model(**CHAIN, emission=family)
    assert hd.load(path) == expected
    _, x = hd.sample(expected, 30, seed=0)
    assert hd.log_likelihood(hd.load(path), x) == hd.log_likelihood(expected, x)


def test_jahmm_on_one_line_and_without_spaces():
    text = " ".join(jahmm("IntegerOPDF [.2 .8]", "IntegerOPDF[.5 .5]").partition("\n")[2].split())
    assert model_from_text(text, "a.hmm").emission.probs.tolist() == [[0.2, 0.8], [0.5, 0.5]]


HMT = """HIDDEN_MARKOV_INDEPENDENT_OUT_TREE

2 STATES

ORDER 1

INITIAL_PROBABILITIES
0.99999 1e-05

TRANSITION_PROBABILITIES
0.885079   0.114921
0.333333   0.666667

# recurrent class: states 0 1

{0}
"""


def process(first, second, kind="PARAMETRIC", number=1):
    return (
        f"OUTPUT_PROCESS {number} : {kind}\n\nSTATE 0 OBSERVATION_DISTRIBUTION\n{first}\n# mean: 3\n\n"
        f"STATE 1 OBSERVATION_DISTRIBUTION\n{second}\n"
    )


def tree_model(*columns):
    return model_from_text(HMT.format(f"{len(columns)} OUTPUT_PROCESSES\n\n" + "\n".join(columns)), "a.hmt")


TABLE = ("OUTPUT 0 : 1.0", "OUTPUT 0 : 0.3\nOUTPUT 2 : .7")
NEGATIVE = (
    "NEGATIVE_BINOMIAL   INF_BOUND : 0   PARAMETER : 14.2916   PROBABILITY : 0.715159",
    "NEGATIVE_BINOMIAL   INF_BOUND : 0   PARAMETER : 1.5   PROBABILITY : 0.25",
)
BINOMIAL = (
    "BINOMIAL   INF_BOUND : 0   SUP_BOUND : 9   PROBABILITY : 0.335956",
    "BINOMIAL   INF_BOUND : 0   SUP_BOUND : 11   PROBABILITY : 0.8",
)
SHIFTED = (
    "BINOMIAL   INF_BOUND : 1   SUP_BOUND : 9   PROBABILITY : 0.4",
    "UNIFORM   INF_BOUND : 2   SUP_BOUND : 5",
)
LATER = (
    "POISSON   INF_BOUND : 3   PARAMETER : 2.5",
    "NEGATIVE_BINOMIAL   INF_BOUND : 2   PARAMETER : 1.5   PROBABILITY : 0.25",
)
FEW = "BINOMIAL   INF_BOUND : 0   SUP_BOUND : 4   PROBABILITY : 0.3"
POISSON = ("POISSON   INF_BOUND : 0   PARAMETER : 2.5", "POISSON   INF_BOUND : 0   PARAMETER : 7")

x = np.arange(10)
LAWS = [  # a column, and scipy's probabilities of 0..9 in each state
    (process(*TABLE, "NONPARAMETRIC"), [(x == 0) * 1.0, (x == 0) * 0.3 + (x == 2) * 0.7]),
    (process(*NEGATIVE), [stats.nbinom.pmf(x, 14.2916, 0.715159), stats.nbinom.pmf(x, 1.5, 0.25)]),
    (process(*BINOMIAL), [stats.binom.pmf(x, 9, 0.335956), stats.binom.pmf(x, 11, 0.8)]),
    (process(*SHIFTED), [stats.binom.pmf(x - 1, 8, 0.4), stats.randint.pmf(x, 2, 6)]),
    (process(*POISSON), [stats.poisson.pmf(x, 2.5), stats.poisson.pmf(x, 7)]),
    (process(POISSON[0], NEGATIVE[1]), [stats.poisson.pmf(x, 2.5), stats.nbinom.pmf(x, 1.5, 0.25)]),
    (process(FEW, POISSON[1]), [stats.binom.pmf(x, 4, 0.3), stats.poisson.pmf(x, 7)]),
    (process(LATER[0], POISSON[1]), [stats.poisson.pmf(x - 3, 2.5), stats.poisson.pmf(x, 7)]),
    (process(LATER[1], NEGATIVE[1]), [stats.nbinom.pmf(x - 2, 1.5, 0.25), stats.nbinom.pmf(x, 1.5, 0.25)]),
    (process(SHIFTED[0], BINOMIAL[0]), [stats.binom.pmf(x - 1, 8, 0.4), stats.binom.pmf(x, 9, 0.335956)]),
    (process(*LATER), [stats.poisson.pmf(x - 3, 2.5), stats.nbinom.pmf(x - 2, 1.5, 0.25)]),
]


@pytest.mark.parametrize(
    ("column", "expected"),
    LAWS,
    ids=[
        *("table", "negative binomial", "binomial", "mixed", "poisson", "two unbounded", "one bounded"),
        *("later poisson", "later negative binomial", "later binomial", "two later"),
    ],
)
def test_openalea_laws(column, expected):
    model = tree_model(column)
    possible = x[x < model.emission.n_symbols] if model.emission.name == "categorical" else x
    mass = np.exp(model.emission.log_prob(possible))
    # scipy's own probabilities of negative binomial counts are good to 1e-13.
    np.testing.assert_allclose(mass, np.transpose(expected)[: len(possible)], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.initial, [0.99999, 1e-5], rtol=1e-12)
    assert model.transition[1].tolist() == [0.333333, 0.666667]


def test_openalea_states_of_different_laws():
    """The mixture has one law a state, so that its joint divergence is the sum of theirs."""
    p, q = (tree_model(process(f"POISSON INF_BOUND : 0 PARAMETER : {rate}", FEW)) for rate in (2.0, 3.0))
    assert p.emission.weights.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    by_hand = [2.0 * np.log(2.0 / 3.0) + 1.0, 0.0]
    np.testing.assert_allclose(p.emission.complete().kl(q.emission.complete()), by_hand, rtol=1e-12)
    np.testing.assert_allclose(p.emission.kl(q.emission), by_hand, rtol=1e-11, atol=1e-14)  # a sum over counts
    _, seen = hd.sample(p, 50, seed=1)
    assert hd.posterior_kl(p, q, seen).value > 0


def test_openalea_columns_and_trees(tmp_path):
    """Columns are independent; on a tree the likelihood is that of the same model written by hand."""
    path = tmp_path / "a.hmt"
    path.write_text(HMT.format("2 OUTPUT_PROCESSES\n" + process(*NEGATIVE) + process(*TABLE, "NONPARAMETRIC", 2)))
    read = hd.load(path)
    family = hd.Product([
        hd.NegativeBinomial([14.2916, 1.5], [0.715159, 0.25]), hd.Categorical([[1, 0, 0], [0.3, 0, 0.7]])
    ])  # fmt: skip
    by_hand = hd.Model(read.initial, read.transition, family)
    tree = hd.Tree([-1, 0, 0, 1, 1, 2])
    _, seen = hd.sample(by_hand, tree, seed=1)
    assert hd.log_likelihood(read, seen, tree) == hd.log_likelihood(by_hand, seen, tree)
    assert float(hd.joint_kl(read, by_hand, tree)) == 0.0


def test_openalea_without_outputs_is_a_markov_tree():
    assert model_from_text(HMT.format(""), "a.hmt").emission.name == "silent"


def test_openalea_in_equilibrium():
    text = HMT.format("1 OUTPUT_PROCESS\n" + process(*POISSON)).replace("HIDDEN", "EQUILIBRIUM_HIDDEN", 1)
    start, end = text.index("INITIAL"), text.index("TRANSITION")
    model = model_from_text(text[:start] + text[end:], "a.hmt")
    np.testing.assert_allclose(model.initial, model.stationary(), rtol=1e-14)


def chain(heading, more="", memory=("", "")):
    """The model of a chain, with one word after each row of the transitions."""
    text = HMT.format(f"{more}\n\n1 OUTPUT_PROCESS\n" + process(*POISSON)).replace(
        "HIDDEN_MARKOV_INDEPENDENT_OUT_TREE", heading
    )
    return text.replace("0.114921", f"0.114921 {memory[0]}").replace("0.666667", f"0.666667 {memory[1]}")


@pytest.mark.parametrize(
    "text",
    [
        chain("HIDDEN_MARKOV_CHAIN"),
        chain("HIDDEN_MARKOV_CHAIN", memory=("   0  # terminal", "   1  # terminal")).replace("ORDER 1", ""),
        chain("HIDDEN_SEMI-MARKOV_CHAIN").replace("ORDER 1", ""),
    ],
    ids=["order 1", "memory", "no occupancy distribution"],
)
def test_openalea_chains(text):
    """Of order 1 they are the model a tree has; states without a law for the time in them are Markovian."""
    assert model_from_text(text, "a.hmc") == tree_model(process(*POISSON))


def column(first, second=POISSON[1], kind="PARAMETRIC"):
    return HMT.format("1 OUTPUT_PROCESS\n" + process(first, second, kind))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hmm v2.0", 'line 1: "v1.0" is needed here, got v2.0'),
        ("Hmm v1.0 NbStates 0", "the number of states must be a whole number from 1 to 100000, got 0"),
        ("Hmm v1.0 NbStates 999999999", "got 999999999"),
        ("Hmm v1.0 NbStates 100000 State Pi 1", "ends too early"),
        (jahmm(*SYMBOLS) + "State", "nothing more is expected, got State"),
        (jahmm("IntegerOPDF [.2 .8]", "GaussianOPDF [0 1]"), "all states must have IntegerOPDF observations"),
        (jahmm("IntegerOPDF [.2 .8]", "IntegerOPDF [.2 .2 .6]"), "as many symbols, got [2, 3]"),
        (jahmm("IntegerOPDF [.2 .9]", SYMBOLS[1]), "IntegerOPDF must sum to 1 within 0.005"),
        (jahmm("IntegerOPDF [.2 -.2 1.0]", SYMBOLS[1]), "none negative"),
        (jahmm("IntegerOPDF [.2 NaN]", SYMBOLS[1]), "IntegerOPDF must be a finite number, got NaN"),
        (jahmm("IntegerOPDF [.2 1e999]", SYMBOLS[1]), "must be a finite number"),
        (jahmm("IntegerOPDF [ ]", SYMBOLS[1]), "must be probabilities"),
        (jahmm("GaussianOPDF [1 2 3]", SYMBOLS[1]), "has a mean and a variance"),
        (jahmm("GaussianMixtureOPDF [[1 2][1 2][1]]", SYMBOLS[1]), "as many means, variances and proportions"),
        (jahmm("PoissonOPDF [1]", SYMBOLS[1]), "the kind of observation is not known, got PoissonOPDF"),
        (jahmm("MultiGaussianOPDF [ [ 1 2 ] [ [ 1 0 ] [ 0 ] ] ]", SYMBOLS[1]), "the covariance must be 2 x 2"),
        ("HIDDEN_MARKOV_TREE 2 STATES ORDER 2", "only order 1 can be represented"),
        (
            "MARKOV_CHAIN 2 STATES",
            "a.hmt: MARKOV_CHAIN, a format of OpenAlea, is not read; read are hidden",
        ),
        ("SEMI-MARKOV_CHAIN 2 STATES", "SEMI-MARKOV_CHAIN, a format of OpenAlea, is not read"),
        ("EQUILIBRIUM_SEMI-MARKOV_CHAIN", "EQUILIBRIUM_SEMI-MARKOV_CHAIN, a format of OpenAlea, is not read"),
        ("NONHOMOGENEOUS_MARKOV_CHAIN", "NONHOMOGENEOUS_MARKOV_CHAIN, a format of OpenAlea, is not read"),
        ("HIDDEN_VARIABLE_ORDER_MARKOV_CHAIN", "HIDDEN_VARIABLE_ORDER_MARKOV_CHAIN, a format of OpenAlea, is not read"),
        (
            chain("HIDDEN_SEMI-MARKOV_CHAIN", "STATE 0 OCCUPANCY_DISTRIBUTION\nPOISSON INF_BOUND : 1 PARAMETER : 5.4"),
            "HIDDEN_SEMI-MARKOV_CHAIN with an OCCUPANCY_DISTRIBUTION, a law of its own for the time in a state, is not",
        ),
        (
            chain("HIDDEN_MARKOV_CHAIN").replace("0.885079   0.114921", "0.885079   0.114921   0 0"),
            "line 11: only order 1 can be represented, state 0 for a memory, got 0 0",
        ),
        (
            HMT.format("").replace("2 STATES", "2\tSTATES"),
            "is a spreadsheet export of OpenAlea's HIDDEN_MARKOV_INDEPENDENT_OUT_TREE, which cannot be read back; save",
        ),
        ("a\tb\n1\t2\n", "is a table of values between tabs, as spreadsheets export it, and not a model; fit a model"),
        ("count\n13\n14\n", "is a column of values, as spreadsheets export it, and not a model; fit a model"),
        ("a;b\n1;2\n", "a table of values between semicolons"),
        ("1,2.5,3\n4,5,6\n", "a table of values between commas"),
        (column("CAUCHY INF_BOUND : 0"), "the law is not known, got CAUCHY"),
        (column("POISSON INF_BOUND : 0 PARAMETER : -1"), "PARAMETER must be above 0"),
        (column("BINOMIAL INF_BOUND : 3 SUP_BOUND : 2 PROBABILITY : 1"), "SUP_BOUND must be a whole number from 3"),
        (column("BINOMIAL INF_BOUND : 0 SUP_BOUND : 2 PROBABILITY : 1.5"), "PROBABILITY must be between 0 and 1"),
        (column("OUTPUT 1 : .5\nOUTPUT 0 : .5", TABLE[1], "NONPARAMETRIC"), "symbols must grow, got 0"),
        (column("OUTPUT 99999999 : 1", TABLE[1], "NONPARAMETRIC"), "the symbol must be a whole number from 0 to 10000"),
        (column("", TABLE[1], "NONPARAMETRIC"), "must be probabilities"),
        (column("UNIFORM INF_BOUND : 0 SUP_BOUND : 3"), "a uniform law beside one without a largest count"),
        (column(*NEGATIVE).replace("0.885079", "0.5"), "transition probabilities must sum to 1"),
    ],
)
def test_refusals(text, said):
    with pytest.raises(InvalidFile) as refusal:
        model_from_text(text, "a.hmt")
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("a.hmt")


def test_what_a_model_refuses_names_the_file():
    with pytest.raises(InvalidModel, match=r"^a.hmm: var\[0\]: must be above 0, got -1.0"):
        model_from_text(jahmm("GaussianOPDF [0 -1]", "GaussianOPDF [0 1]"), "a.hmm")


def test_a_text_too_long_is_refused_before_it_is_taken_apart(monkeypatch):
    monkeypatch.setattr("hidiv.files.formats.FOREIGN_LIMIT", 100)
    with pytest.raises(InvalidFile, match="a model of another program may have 100 characters, got"):
        model_from_text(jahmm(*SYMBOLS), "a.hmm")


def test_a_tree_is_not_among_them(tmp_path):
    from hidiv.files.loading import load_tree

    path = tmp_path / "two.hmm"
    path.write_text(jahmm(*SYMBOLS))
    with pytest.raises(InvalidFile, match="hidiv.tree is needed here"):
        load_tree(path)


WORDS = sorted({*jahmm(*SYMBOLS).split(), *HMT.split(), *" ".join(c for c, _ in LAWS).split(), "1e9", "-1", "#", "\n"})


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(["Hmm v1.0 NbStates 2 State Pi", "HIDDEN_MARKOV_TREE 2 STATES"]), st.lists(st.sampled_from(WORDS))
)
def test_any_words_are_read_or_refused_in_one_sentence(start, words):
    found_or_refused(lambda: model_from_text(f"{start} {' '.join(words)}", "a.hmt"), "a.hmt")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_a_file_with_one_word_changed_is_read_or_refused_in_one_sentence(data):
    text = data.draw(st.sampled_from([jahmm(*SYMBOLS), column(*NEGATIVE), column(*TABLE, kind="NONPARAMETRIC")]))
    words = text.split(" ")
    words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from(WORDS))
    found_or_refused(lambda: model_from_text(" ".join(words), "a.hmt"), "a.hmt")


def test_the_command_line_reads_them(tmp_path):
    paths = []
    tables = ("OUTPUT 0 : 0.5\nOUTPUT 1 : 0.5", "OUTPUT 0 : 0.25\nOUTPUT 1 : 0.75")
    for name, laws in (("a.hmt", tables), ("b.hmt", tables[::-1])):
        paths.append(str(tmp_path / name))
        (tmp_path / name).write_text(column(*laws, "NONPARAMETRIC"))
    done = hidiv("compare", *paths, "--tree", "chain:4", "--json")
    assert done.returncode == 0, done.stderr
    value = float(hd.joint_kl(hd.load(paths[0]), hd.load(paths[1]), 4))
    assert repr(value) in done.stdout
    (tmp_path / "a.hmt").write_text("HIDDEN_MARKOV_TREE 2 STATES INITIAL_PROBABILITIES 0.5 half")
    done = hidiv("compare", *paths, "--tree", "chain:4")
    assert done.returncode == 2
    assert "initial probabilities must be a finite number, got half" in done.stderr
