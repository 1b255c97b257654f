"""A small language that comes with its analysis: discourses written by chance, each with its gold labels."""

from typing import NamedTuple

import torch

from transformer_anatomy.lab import lexicon
from transformer_anatomy.lab.discourse import Discourse
from transformer_anatomy.lab.requests import as_random
from transformer_anatomy.lab.writing import Dice, Writer
from transformer_anatomy.model.arguments import check_count

P_PASSIVE = 0.4
P_PERFECT = (
    2 / 3
)  # Of the active: as often as the passive, and as long, so that the verb's place does not tell the agent.
P_PLACE = 0.4  # The deed happens somewhere.
P_PLURAL = 0.5
P_USUAL = 0.8  # A subject does what it usually does; otherwise any verb, that one among them.
P_ADJECTIVE = 0.3
P_NOUN = 0.75  # The object of the scene is a noun rather than "everybody".
P_YET = 0.3


def make_discourses(n_samples: int, seed: int | torch.Generator) -> list[Discourse]:
    """Discourses of 19 to 31 tokens with their labels. A seed gives the same ones again, a generator the next ones.

        clara is tricked by omar . the guards near the cook judge a pilot . so he seems bitter about his saddle .

    between [CLS] and [SEP]. Nouns are drawn in either number, the one between subject and verb among them.
    """
    check_count("n_samples", n_samples)
    dice = Dice(as_random(seed))
    return [write_discourse(dice, Writer()) for _ in range(n_samples)]


def write_discourse(dice: Dice, text: Writer) -> Discourse:
    """Write one discourse, deciding by `dice`."""
    start = text.add(lexicon.CLS)
    deed, agent_name, patient_name, labels = _write_deed(dice, text, start)
    labels |= _write_scene(dice, text, start)
    same_gender = (agent_name in lexicon.WOMEN) == (patient_name in lexicon.WOMEN)
    who = "agent" if same_gender or dice.happens(0.5) else "patient"
    name = agent_name if who == "agent" else patient_name
    labels |= _write_feeling(dice, text, start, deed, name)
    text.add(lexicon.SEP)
    layers = map(tuple, (text.tokens, text.tags, text.heads, text.relations))
    return Discourse(*layers, **labels, antecedent=labels[who], same_gender=same_gender)


def _write_deed(dice: Dice, text: Writer, start: int) -> tuple[str, str, str, dict]:
    """`clara tricks omar`, `clara has just tricked omar` or `omar is tricked by clara`, perhaps somewhere."""
    passive = dice.happens(P_PASSIVE)
    perfect = not passive and dice.happens(P_PERFECT)
    first = dice.pick(lexicon.NAMES)
    before = [text.add(first, "NAME", "nsubj")]
    if passive or perfect:
        before.append(text.add("is" if passive else "has", "AUX", "aux"))
    if perfect:
        before.append(text.add("just", "ADV", "advmod"))
    deed = dice.pick(tuple(lexicon.FEELING_AFTER))
    form = lexicon.participle(deed) if passive or perfect else lexicon.s_form(deed)
    verb = text.add(form, "VERB", "root", *before, head=start)
    case = [text.add("by", "ADP", "case")] if passive else []
    second = dice.pick([name for name in lexicon.NAMES if name != first])
    other = text.add(second, "NAME", "agent" if passive else "obj", *case, head=verb)
    if dice.happens(P_PLACE):
        where = text.add(dice.pick(lexicon.PREPOSITIONS), "ADP", "case")
        article = text.add(dice.pick(lexicon.ARTICLES[False]), "DET", "det")
        text.add(dice.pick(lexicon.PLACES), "NOUN", "obl", where, article, head=verb)
    text.add(".", "PUNCT", "punct", head=verb)
    agent, patient = (other, before[0]) if passive else (before[0], other)
    names = (second, first) if passive else (first, second)
    return deed, *names, {"agent": agent, "patient": patient, "deed": verb, "passive": passive}


def _write_scene(dice: Dice, text: Writer, start: int) -> dict:
    """`the guards (near the cook | whom the cook admires) judge a pilot`, or `... judge everybody`."""
    subject, attractor = _write_noun(dice, text, "nsubj"), None
    kind = dice.pick(("phrase", "clause", None))
    if kind == "phrase":
        where = text.add(dice.pick(lexicon.PREPOSITIONS), "ADP", "case")
        attractor = _write_noun(dice, text, "nmod", where, head=subject.position)
    if kind == "clause":
        whom = text.add("whom", "PRON", "obj")
        attractor = _write_noun(dice, text, "nsubj", p_adjective=0)
        text.add(_verb_form(dice, attractor), "VERB", "relcl", whom, attractor.position, head=subject.position)
    verb = text.add(_verb_form(dice, subject), "VERB", "root", subject.position, head=start)
    if dice.happens(P_NOUN):
        _write_noun(dice, text, "obj", head=verb)
    else:
        text.add("everybody", "PRON", "obj", head=verb)
    text.add(".", "PUNCT", "punct", head=verb)
    labels = {"subject": subject.position, "verb": verb, "plural": subject.plural, "attractor_kind": kind}
    labels["attractor"] = attractor and attractor.position
    labels["attractor_plural"] = attractor and attractor.plural
    return labels


def _write_feeling(dice: Dice, text: Writer, start: int, deed: str, name: str) -> dict:
    """`so she seems bitter about her flute`: she is the one called `name`, and the flute is hers."""
    word = "yet" if dice.happens(P_YET) else "so"
    subject, owner = ("she", "her") if name in lexicon.WOMEN else ("he", "his")
    pleasant = (deed in lexicon.PLEASANT) == (word == "so")
    possible = tuple((lexicon.PLEASANT if pleasant else lexicon.UNPLEASANT).values())
    connective = text.add(word, "CONJ", "cc")
    pronoun = text.add(subject, "PRON", "nsubj")
    verb = text.add("seems", "VERB", "root", connective, pronoun, head=start)
    adjective = dice.pick(possible) if word == "yet" else lexicon.FEELING_AFTER[deed]
    feeling = text.add(adjective, "ADJ", "xcomp", head=verb)
    about, possessive = text.add("about", "ADP", "case"), text.add(owner, "PRON", "poss")
    thing = text.add(lexicon.OWNS[name], "NOUN", "obl", about, possessive, head=feeling)
    text.add(".", "PUNCT", "punct", head=verb)
    places = {"connective": connective, "pronoun": pronoun, "feeling": feeling, "possessive": possessive}
    return places | {"object": thing, "pleasant": pleasant}


class _Noun(NamedTuple):
    position: int
    lemma: str
    plural: bool


def _write_noun(
    dice: Dice, text: Writer, relation: str, *before: int, head: int | None = None, p_adjective: float = P_ADJECTIVE
) -> _Noun:
    """`the tall guards`; what stands `before` hangs on the noun, too."""
    plural = dice.happens(P_PLURAL)
    words = [*before, text.add(dice.pick(lexicon.ARTICLES[plural]), "DET", "det")]
    if dice.happens(p_adjective):
        words.append(text.add(dice.pick(lexicon.ADJECTIVES), "ADJ", "amod"))
    lemma = dice.pick(lexicon.NOUNS)
    form = lexicon.s_form(lemma) if plural else lemma
    return _Noun(text.add(form, "NOUN", relation, *words, head=head), lemma, plural)


def _verb_form(dice: Dice, subject: _Noun) -> str:
    verb = lexicon.USUAL_VERB[subject.lemma] if dice.happens(P_USUAL) else dice.pick(lexicon.VERBS)
    return verb if subject.plural else lexicon.s_form(verb)
