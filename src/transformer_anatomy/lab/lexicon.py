"""The words of the small language: which there are, which forms they take, and what is known about them."""

PAD, CLS, SEP, MASK = SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")

WOMEN = ("clara", "ines", "maya", "nora", "olga", "rosa")
MEN = ("adam", "felix", "hugo", "ivan", "leo", "omar")
NAMES = WOMEN + MEN
_WOMEN_OWN = ("flute", "cello", "kettle", "basket", "compass", "lantern")
_MEN_OWN = ("whistle", "trumpet", "shovel", "candle", "wallet", "saddle")
OWNS = dict(zip(NAMES, _WOMEN_OWN + _MEN_OWN, strict=True))  # Everybody has one thing of their own.

# What is done to somebody, and the feeling that comes of it.
PLEASANT = {"comfort": "cheerful", "reward": "happy", "rescue": "grateful"}
UNPLEASANT = {"mock": "upset", "trick": "bitter", "blame": "gloomy"}
FEELING_AFTER = PLEASANT | UNPLEASANT
FEELINGS = tuple(FEELING_AFTER.values())

PERSONS = ("pilot", "sailor", "baker", "farmer", "painter", "dancer")
AMBIGUOUS = ("guard", "cook", "judge", "coach", "scout", "guide")  # A noun or a verb, in both of its forms.
NOUNS = PERSONS + AMBIGUOUS
VERBS = (*AMBIGUOUS, "admire", "visit", "notice", "avoid")
_PERSONS_DO = ("guide", "scout", "cook", "guard", "admire", "coach")
_AMBIGUOUS_DO = ("notice", "visit", "avoid", "judge", "guide", "guard")
USUAL_VERB = dict(zip(NOUNS, _PERSONS_DO + _AMBIGUOUS_DO, strict=True))  # What each of them does most of the time.

PLACES = ("harbour", "market", "forest", "castle", "tower", "meadow")
PREPOSITIONS = ("beside", "near", "beyond", "opposite")
ADJECTIVES = ("tall", "quiet", "clever", "brave", "young")
ARTICLES = {False: ("the", "a"), True: ("the", "several")}  # by plural
CONNECTIVES = ("so", "yet")
_ARTICLES_AND_PRONOUNS = ("the", "a", "several", "whom", "everybody", "she", "he", "her", "his")
_LITTLE_WORDS = (*_ARTICLES_AND_PRONOUNS, "is", "has", "just", "by", "seems", "about", ".")


def s_form(word: str) -> str:
    """The word with its -s: the plural of a noun, the singular of a verb."""
    return word + ("es" if word.endswith("ch") else "s")


def participle(verb: str) -> str:
    """The form after "is" and "has": `rescue` gives `rescued`."""
    return verb + ("d" if verb.endswith("e") else "ed")


VOCABULARY = tuple(
    dict.fromkeys(  # An ambiguous word is one word.
        (
            *SPECIALS,
            *_LITTLE_WORDS,
            *CONNECTIVES,
            *NAMES,
            *OWNS.values(),
            *map(s_form, FEELING_AFTER),
            *map(participle, FEELING_AFTER),
            *FEELINGS,
            *NOUNS,
            *map(s_form, NOUNS),
            *VERBS,
            *map(s_form, VERBS),
            *PLACES,
            *PREPOSITIONS,
            *ADJECTIVES,
        )
    )
)
"""The words of the small language, special tokens first; the id of a word is its place."""

WORD_IDS = {word: index for index, word in enumerate(VOCABULARY)}
PAD_ID, CLS_ID, SEP_ID, MASK_ID = (WORD_IDS[special] for special in SPECIALS)
