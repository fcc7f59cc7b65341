"""The command line, tried as a stranger would."""

import json
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from kilogram import cli
from kilogram.cli import app
from kilogram.kitchen.judge import compare
from tests.kitchen.conftest import classes, curved

RUN = CliRunner()
QUICK = ["--folds", 2, "--repeats", 1, "--search", "path"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    curved().to_csv("curved.csv", index=False)
    classes().to_csv("classes.csv", index=False)
    return tmp_path


def kg(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def test_cook_then_predict(here):
    done = kg("cook", "curved.csv", "--target", "y", "--folds", 3, "--repeats", 1)
    assert done.exit_code == 0, done.output
    assert "95 % interval" in done.stdout
    assert "y can be predicted" in done.stdout
    folder = here / "kilogram-report" / "curved-y"
    assert sorted(p.name for p in folder.iterdir()) == [
        "model-card.md",
        "model.skops",
        "recipe.toml",
        "report.html",
        "report.json",
    ]
    chosen = json.loads((folder / "report.json").read_text())["chosen"]
    assert chosen not in ("baseline", "linear")
    done = kg("predict", folder / "model.skops", "curved.csv", "--out", "answers.csv")
    assert done.exit_code == 0, done.output
    assert "R²" in done.stderr
    assert "training score is optimistic" in done.stderr
    answers = pd.read_csv("answers.csv")
    added = ["predicted y", "low y", "high y", "out of distribution"]
    assert list(answers.columns) == [*curved().columns, *added]
    assert len(answers) == 90
    assert not list(here.glob(".answers*"))
    to_stdout = kg("predict", folder / "model.skops", "curved.csv", "--bare").stdout
    assert to_stdout.splitlines()[0].endswith('"predicted y"')


def test_classes_parquet_and_quiet(here):
    classes().to_parquet("c.parquet")
    done = kg("cook", "c.parquet", "-t", "kind", "--out", "o", *QUICK, "-q", "--seed", 3)
    assert done.exit_code == 0, done.output
    assert done.output == ""
    done = kg("predict", "o/model.skops", "c.parquet", "--out", "p.parquet")
    assert "accuracy" in done.stderr
    answers = pd.read_parquet("p.parquet")
    assert set(answers["predicted kind"]) == {"p", "q", "r"}
    assert answers["probability"].between(1 / 3, 1).all()


def test_a_recipe_cooks_the_same_again(here):
    kg("cook", "curved.csv", "-t", "y", *QUICK, "--out", "o", "-q", "--drop", "noise")  # fmt: skip
    done = kg("cook", "--recipe", "o/recipe.toml", "--out", "again", "-q")
    assert done.exit_code == 0, done.output
    one, two = (json.loads((here / f / "report.json").read_text()) for f in ("o", "again"))
    assert one["conclusion"] == two["conclusion"]
    assert one["trust"] == two["trust"]
    scores = [[fold["score"] for r in found["recipes"] for fold in r["folds"]]
              for found in (one, two)]  # fmt: skip
    assert scores[0] == scores[1]
    said = kg("cook", "--recipe", "o/recipe.toml", "--folds", 3)
    assert said.exit_code == 1
    assert "--folds cannot be combined with --recipe" in said.stderr
    changed = curved()
    changed.loc[0, "x"] += 1
    changed.to_csv("curved.csv", index=False)
    assert "not the file" in kg("cook", "--recipe", "o/recipe.toml", "--out", "b", "-q").stderr


def test_tables_without_header(here):
    classes().to_csv("bare.csv", index=False, header=False)
    assert "--no-header" in kg("cook", "bare.csv", "--target", "column_3").stderr
    done = kg("cook", "bare.csv", "-t", "column_3", "--no-header", "--out", "o", *QUICK)
    assert done.exit_code == 0, done.output
    assert kg("predict", "o/model.skops", "bare.csv").exit_code == 0


def test_audit_then_cook_what_is_left(here):
    curved().assign(copy=lambda f: f["y"]).to_csv("leaky.csv", index=False)
    done = kg("audit", "leaky.csv", "--target", "y")
    assert done.exit_code == 2
    assert "KG-A07 serious" in done.stdout
    assert "kg cook would stop" in done.stdout
    ref = json.loads(kg("audit", "leaky.csv", "-t", "y", "--json").stdout)
    assert ref["findings"][0]["columns"] == ["copy"]
    stopped = kg("cook", "leaky.csv", "-t", "y", "--out", "o")
    assert stopped.exit_code == 1
    assert "'copy' is 'y' under another name" in stopped.stderr
    assert not (here / "o").exists()
    assert kg("audit", "leaky.csv", "-t", "y", "--drop", "copy").exit_code == 0
    assert kg("audit", "leaky.csv", "-t", "y", "--accept", "KG-A07").exit_code == 0
    short = [*QUICK, "--out", "o"]
    assert kg("cook", "leaky.csv", "-t", "y", "--drop", "copy", *short).exit_code == 0


def test_choose(here):
    done = kg("choose", "classes.csv", "--target", "kind", "--probabilities")
    assert done.exit_code == 0, done.output
    assert "kg.LogisticRegression" in done.stdout
    ref = json.loads(kg("choose", "classes.csv", "--drop", "kind", "--clusters", "--json").stdout)
    assert ref["try"][0]["method"] == "k-means"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cook", "nothing.csv", "--target", "y"], "There is no file nothing.csv"),
        (["cook", "curved.csv"], "Which column"),
        (["cook", "curved.csv", "--target", "Y "], "Did you mean 'y'?"),
        (["cook", "curved.csv", "--target", "y", "--out", "curved.csv/x"], "Cannot write to"),
        (["cook", "curved.csv", "--target", "y", "--ignore", "z"], "no input column 'z'"),
        (["predict", "curved.csv", "curved.csv"], "not a model file"),
        (["audit", "curved.csv", "--target", "y", "--accept", "KG-A77"], "no finding 'KG-A77'"),
        (["audit", "curved.csv", "--ordinal", "word=red,blue"], "leaves out 'green'"),
        (["choose", "curved.csv", "--target", "z"], "no column 'z'"),
        (["explain", "KernelRidg"], "Did you mean 'KernelRidge'"),
    ],
)
def test_errors_are_one_sentence_and_nothing_is_left(here, arguments, message):
    done = kg(*arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert sorted(p.name for p in here.iterdir()) == ["classes.csv", "curved.csv"]


def test_predictions_need_the_columns(here):
    kg("cook", "curved.csv", "-t", "y", "--out", "o", *QUICK)
    done = kg("predict", "o/model.skops", "classes.csv")
    assert done.exit_code == 1
    assert "lacks the column" in done.stderr
    assert (
        ".csv or .parquet" in kg("predict", "o/model.skops", "curved.csv", "--out", "a.xls").stderr
    )


def test_explain_and_version():
    assert kg("version").stdout.startswith("kilogram ")
    ref = kg("explain", "ridge").stdout
    assert ref.index("Objective") < ref.index("Parameters")  # what it is for comes first
    assert "Textbook version:" not in ref
    assert "kg explain Ridge --textbook" in ref
    ref = kg("explain", "ridge", "--textbook").stdout
    assert "Textbook version: Ridge by Cholesky" in ref
    assert "    Printed  " in ref
    assert "Machine Learning Cookbook, chapter 17" in ref


def test_explain_breaks_long_calls_into_lines():
    ref = kg("explain", "KMeans").stdout.splitlines()
    call = ref[: next(i for i, line in enumerate(ref) if line.startswith("---"))]
    assert len(call) > 1
    assert call[0].startswith("KMeans(n_clusters=8, ")
    assert call[-1].endswith(")")
    assert all(len(line) <= 96 for line in call)


def test_a_model_is_opened_explained_and_exported_by_public_names():
    """Loaded when asked for, and without the libraries of the export."""
    code = (
        "import sys, kilogram as kg; assert 'kilogram.kitchen' not in sys.modules; "
        "kg.load_model, kg.explain_model, kg.export_model; "
        "sys.exit('onnx' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("command", [[], ["cook"], ["predict"], ["book"]])
def test_help_shows_flags_without_a_type(command):
    text = kg(*command, "--help").stdout
    assert "--help" in text
    assert "<bool>" not in text
    assert "list[" not in text


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from kilogram.cli import app; "
        "print(*({'numpy', 'sklearn', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout.split() == []


WRITES = """
import sys, typer
from kilogram.cli.common import user_errors

def main():
    with user_errors():
        sys.stdout.buffer.write(b"x" * 10**6)
        sys.stdout.flush()

typer.run(main)
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_behind_standard_output_is_one_sentence():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", WRITES], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "kg: standard output: No space left on device. The output is incomplete."
    ]


@pytest.mark.parametrize("finished", [0, 2])
def test_ctrl_c_leaves_nothing_but_finished_folds(here, finished, monkeypatch):
    """The signal comes when a fold begins, from within: no clock decides how many are finished."""
    begun, judge = [], compare.judge_fold

    def one(*rest):
        if len(begun) == finished:
            signal.raise_signal(signal.SIGINT)
        begun.append(1)
        return judge(*rest)

    monkeypatch.setattr(compare, "judge_fold", one)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        done = kg("cook", "curved.csv", "--target", "y", *QUICK)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code == 130
    kept = [path for path in here.glob("kilogram-report/**/*") if path.is_file()]
    assert len(kept) == finished
    assert all(".unfinished-" in str(path) for path in kept)
    assert ("2 finished folds are kept in kilogram-report" in done.stderr) == bool(finished)
    assert ("Nothing was written" in done.stderr) == (not finished)


def test_an_audit_reports_that_its_time_was_too_short(here):
    done = kg("audit", "curved.csv", "-t", "y", "--max-time", "1e-9")
    assert done.exit_code == 1
    assert "not read within the time limit" in done.stderr
    assert json.loads(kg("audit", "curved.csv", "--json").stdout)["not_checked"] == []
    done = kg("audit", "curved.csv", "--max-time", 0)
    assert done.exit_code == 1
    assert "max_time must be a float greater than 0" in done.stderr


def test_the_version_and_python_m_kilogram():
    done = kg("--version")
    assert done.exit_code == 0
    assert done.stdout.startswith("kilogram ")
    run = subprocess.run([sys.executable, "-m", "kilogram", "--version"], capture_output=True,
                         text=True)  # fmt: skip
    assert run.stdout == done.stdout


def test_unused_columns_are_named_with_their_reason(here):
    frame = curved()
    frame["empty"] = 7
    frame.to_csv("more.csv", index=False)
    done = kg("cook", "more.csv", "--target", "y", "--drop", "noise", *QUICK)
    assert done.exit_code == 0, done.output
    assert "Column 'empty' is not used (constant): the same value, 7, in every row." in done.stdout
    assert "Column 'noise' is left out, as requested." in done.stdout


def test_a_closed_pipe_leaves_the_files(here):
    command = [sys.executable, "-m", "kilogram", "cook", "curved.csv", "--target", "y", "--out",
               "out", *map(str, QUICK)]  # fmt: skip
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run.stdout.close()  # what `| head -0` does
    run.wait()
    assert (here / "out" / "report.html").exists()


def test_predict_does_not_overwrite_its_input(here):
    assert kg("cook", "curved.csv", "--target", "y", "--out", "out", *QUICK).exit_code == 0
    before = (here / "curved.csv").read_text()
    done = kg("predict", "out/model.skops", "curved.csv", "--out", "curved.csv")
    assert done.exit_code == 1
    assert "would be overwritten" in done.stderr
    assert (here / "curved.csv").read_text() == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="paths are bytes there")
def test_a_folder_whose_name_is_no_text_and_a_terminal_of_ascii(tmp_path):
    """Reports, recipes and messages name files whose names have bytes that are no UTF-8."""
    folder = os.fsencode(tmp_path) + b"/no\xff text"
    os.mkdir(folder)
    where = os.fsdecode(folder)
    curved().to_csv(f"{where}/t.csv", index=False)
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    start = [sys.executable, "-m", "kilogram"]
    for arguments in (
        ["cook", f"{where}/t.csv", "--target", "y", "--out", f"{where}/r", *map(str, QUICK)],
        ["predict", f"{where}/r/model.skops", f"{where}/t.csv", "--out", f"{where}/p.csv"],
        ["explain-model", f"{where}/r/model.skops", f"{where}/t.csv", "--out", f"{where}/e"],
        ["explore", f"{where}/t.csv", "--out", f"{where}/x"],
    ):
        done = subprocess.run(
            [*start, *arguments], env=ascii_only, capture_output=True, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        assert b"Traceback" not in done.stderr
    for name in (b"r/report.html", b"r/recipe.toml", b"r/report.json", b"p.csv"):
        with open(folder + b"/" + name, "rb") as file:
            file.read().decode("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")
@pytest.mark.parametrize("closed", ["1>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams(closed, here):
    """As a service starts a command: what it writes must not go to files opened later."""
    shell = f"{sys.executable} -m kilogram explore curved.csv --out report {closed}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (here / "report" / "exploration.html").read_bytes().startswith(b"<!")
    shell = f"{sys.executable} -m kilogram predict none.skops curved.csv {closed}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=120)
    assert done.returncode == 1
    assert b"Standard output is closed" in done.stderr or "2>&-" in closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
def test_a_pipe_is_refused_at_once(here):
    """Its beginning could not be read again: kg waited for ever."""
    os.mkfifo("pipe")
    for command in (["audit"], ["cook", "--target", "y"], ["explore"], ["choose", "--target", "y"]):
        done = kg(command[0], "pipe", *command[1:])
        assert done.exit_code == 1
        assert "write it to a file first" in done.stderr


def test_ctrl_c_before_a_command_runs(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


def test_names_do_not_act_on_the_terminal(here):
    """A column or a class may be called what clears a screen or sets its title."""
    frame = classes()
    frame.columns = [f"{name}\x1b]0;own\x07" if name != "kind" else name for name in frame]
    frame["kind"] += "\x1b[2J"
    frame.to_csv("evil.csv", index=False)
    said = [
        kg("audit", "evil.csv", "--target", "kind"),
        kg("explore", "evil.csv", "--out", "x"),
        kg("choose", "evil.csv", "--target", "kind"),
        kg("cook", "evil.csv", "--target", "kind", "--out", "r", *QUICK),
        kg("explain-model", "r/model.skops", "evil.csv", "--out", "e"),
    ]
    for done in said:
        assert done.exit_code == 0, done.output
        assert not set("\x1b\x07") & set(done.output), done.output
    assert "\\x1b]0" in said[0].output
