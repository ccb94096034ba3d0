"""Examples in the documentation of the package run, its types hold, and its scripts do."""

import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pyarrow as pa
import pytest

import tambour

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = ROOT / "crates/tambour-python/python/tambour"
MODULES = sorted(info.name for info in pkgutil.iter_modules(tambour.__path__) if info.name not in ("_internal", "__main__"))


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples(name, tmp_path):
    module = importlib.import_module(f"tambour.{name}".rstrip("."))
    birds = pa.table({"name": ["goose", "robin", "swan"], "weight": [3.5, 0.02, 9.5]})
    csv = tmp_path / "visits.csv"
    csv.write_text("page,visits\n/,30\n/about,1\n/,40\n")
    names = {"_directory": tmp_path, "_data": birds, "_csv": csv, **vars(module)}
    failed, _ = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_every_name_is_documented():
    for name in tambour.__all__:
        value = getattr(tambour, name)
        assert name == "__version__" or (value.__doc__ or "").strip(), name
        if isinstance(value, type):
            for member, what in vars(value).items():
                if not member.startswith("_") and callable(what):
                    assert what.__doc__ or member in dir(BaseException), f"{name}.{member}"


def test_internal_stubs_name_what_is_there():
    """Each name of the stub is in the module, and each of the module in the stub."""
    import ast

    from tambour import _internal

    tree = ast.parse((SOURCES / "_internal.pyi").read_text())
    stated = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in vars(_internal) if not name.startswith("__") and name != "has_sql"}
    assert set(stated) == there
    for name, node in stated.items():
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__buffer__", "__new__"}
            missing = members - set(dir(getattr(_internal, name)))
            public = {member for member in dir(getattr(_internal, name)) if not member.startswith("_")}
            assert not missing and public <= members, (name, missing, public - members)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types(checker):
    told = subprocess.run([sys.executable, "-m", checker], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_readme(tmp_path, monkeypatch):
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    monkeypatch.chdir(tmp_path)
    pathlib.Path("hits.csv").write_text("page,visits\n/,30\n/about,1\n/,40\n")
    names = {}
    for block in blocks:
        exec(block.split("```")[0], names)
    assert names["frame"]["visits"].tolist() == [30, 40] and names["top"].num_rows == 2


SCRIPTS = sorted((ROOT / "crates/tambour-python/examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts(script, tmp_path):
    told = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout


def test_there_are_scripts():
    assert len(SCRIPTS) == 3
