"""The table behind the chapter on gradient pathologies is what its script makes."""

import json
import sys

import pytest
import torch

from tests.chapters import ROOT

sys.path.append(str(ROOT))

from experiments import gradient_pathologies as experiment

TABLE = {(row["name"], row["seed"]): row for row in json.loads(experiment.TABLE.read_text(encoding="utf-8"))}


@pytest.fixture(autouse=True)
def one_thread():
    """As `sweep` runs them: sums of floats depend on how they are split up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_case_was_run_with_three_seeds():
    assert set(TABLE) == {(name, seed) for name in experiment.CASES for seed in range(3)}


# A saturated softmax enlarges the last digits, in which processors differ, to hundredths of the loss within 20 steps.
@pytest.mark.parametrize(("name", "within"), [("two teachers", 0.001), ("vanishing, SGD", 0.001), ("10·I", 0.02)])
def test_a_training_begun_again_has_the_losses_of_the_table(name, within):
    again = experiment.run(name, seed=1, n_steps=experiment.CASES[name].warmup)  # so long the rates are the same
    losses = [key for key in again if key.startswith("loss")]
    assert len(losses) == 2
    assert [again[key] for key in losses] == pytest.approx([TABLE[name, 1][key] for key in losses], rel=within)


def test_the_second_teacher_wants_other_words_for_the_same_questions():
    inputs, targets, mask = experiment.HELD_OUT
    same, further, same_mask = experiment.of_second_teacher(experiment.HELD_OUT, marked=False)
    asked = targets >= 0
    assert torch.equal(same, inputs) and torch.equal(same_mask, mask) and torch.equal(further[~asked], targets[~asked])
    assert (further[asked] != targets[asked]).all() and further[asked].min() >= experiment.N_SPECIALS
    marked = experiment.of_second_teacher(experiment.HELD_OUT, marked=True)[0]
    assert (marked[:, 0] == experiment.SEP).all() and torch.equal(marked[:, 1:], inputs[:, 1:])


def test_the_chapter_builds_the_same_models(chapter_models):
    """The start is computed live in the chapter, the end read from the table: they must be of one model."""
    for name, structure in chapter_models.items():
        case = experiment.CASES[name]
        assert {"start": case.start, "norm": case.norm, "residual": case.residual} == {
            "start": 1.0,
            "residual": True,
        } | structure


@pytest.fixture
def chapter_models():
    """PLANS of the chapter."""
    from tests.chapters import chapters

    (chapter,) = [chapter for chapter in chapters() if chapter.path.stem == "gradient_pathologies"]
    (cell,) = [cell for cell in chapter.code_cells if cell.source.startswith("PLANS = ")]
    names: dict = {}
    exec(cell.source.partition("\n\n")[0], names)
    return names["PLANS"]
