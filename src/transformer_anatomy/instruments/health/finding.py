"""One fault of a model, with what speaks for it."""

from dataclasses import dataclass

# The usual causes, for whoever has to look for the one at hand.
HINTS = {
    "vanishing": "often no residual connections, saturated activations, or weights that start too small",
    "exploding": "often no norm, or weights that start too large",
    "collapsed": "are the residual connections there? Without them attention averages all tokens into one",
    "saturated": "is the 1/√d_head scale there? Do query and key weights start too large?",
    "dead": "often a learning rate that was too high, or biases far below 0",
    "unused": "often a detach() or a no_grad(); meant, perhaps, if two parts of the model learn in turn",
    "shared": "often one layer put into a list several times, as in [layer] * 6; each needs its own copy",
    "masked-out": "often a mask of the opposite polarity, or a sample of length 0",
    "non-finite": "often a division by 0, a root or logarithm at 0, an overflow in half precision, or a broken input",
    "update-too-large": "often a learning rate that is too high for this group of parameters",
    "update-too-small": "often a learning rate of nearly 0, a parameter left out, or weights in half precision",
}


@dataclass(frozen=True)
class Finding:
    """A fault by its name, `where` it is (a path in the model), and the `evidence` in words, with the numbers.

    `where` is empty for the model or the loss as a whole.
    """

    fault: str
    where: str
    evidence: str

    @property
    def hint(self) -> str:
        """Where to look first: what usually causes such a fault, which need not be what caused this one."""
        return HINTS[self.fault]

    @property
    def place(self) -> str:
        """`where`, in words if it is the whole."""
        return self.where or "the model as a whole"
