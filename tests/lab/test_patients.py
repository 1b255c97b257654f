import inspect

import pytest
import torch

from transformer_anatomy import PATIENTS, examine
from transformer_anatomy.lab import patients

pytestmark = pytest.mark.usefixtures("unchecked")  # tests of examine check the shapes


def test_there_are_twelve_and_each_says_in_a_sentence_what_was_done_to_it():
    makers = [patient.make for patient in PATIENTS.values()]
    assert len(set(makers)) == len(PATIENTS) == 12
    assert all(inspect.getdoc(make).endswith(".") for make in makers)


def test_the_model_they_were_made_of_is_sound():
    model, loss, _ = patients.sound()
    assert examine(model, loss, optimizer=torch.optim.Adam(model.parameters())).healthy


@pytest.mark.parametrize("name", PATIENTS)
def test_a_random_state_makes_the_same_patient_again(name):
    numbers = []
    for _ in range(2):
        torch.manual_seed(3)
        model, loss, _ = PATIENTS[name].make(d_model=32, n_heads=2)
        numbers.append((loss(model).item(), *(p.nan_to_num().sum().item() for p in model.parameters())))
    assert repr(numbers[0]) == repr(numbers[1])  # NaN is unequal to itself
