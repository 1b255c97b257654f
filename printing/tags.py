"""The structure that Chromium writes for screen readers, of many PDFs put together as one."""

from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, BooleanObject, DictionaryObject, NameObject, NumberObject


class Tags:
    """Collects the structure of each PDF whose pages have just been added to `writer`."""

    def __init__(self, writer: PdfWriter):
        self.writer = writer
        self.root = DictionaryObject(
            {NameObject("/Type"): NameObject("/StructTreeRoot"), NameObject("/K"): ArrayObject()}
        )
        self.reference = writer._add_object(self.root)
        self.numbers = ArrayObject()
        self.next = 0

    def add(self, printed: PdfReader, first: int) -> None:
        """`printed` has its pages in the writer from index `first` on; a PDF without structure adds none."""
        tree = printed.trailer["/Root"].get("/StructTreeRoot")
        if tree is None:
            return
        tree = tree.get_object()
        top = tree["/K"].get_object().clone(self.writer)
        top[NameObject("/P")] = self.reference
        self.root["/K"].append(top.indirect_reference)
        numbers = tree["/ParentTree"].get_object()["/Nums"]
        for key, value in zip(numbers[::2], numbers[1::2], strict=True):
            self.numbers.append(NumberObject(key + self.next))
            self.numbers.append(value.get_object().clone(self.writer).indirect_reference)
        for page in self.writer.pages[first : first + len(printed.pages)]:
            for owner, name in [
                (page, "/StructParents"),
                *((a.get_object(), "/StructParent") for a in page.get("/Annots", ())),
            ]:
                if name in owner:
                    owner[NameObject(name)] = NumberObject(owner[name] + self.next)
        self.next += int(tree["/ParentTreeNextKey"])

    def write(self) -> None:
        """Makes the collected structure that of the whole document."""
        parents = DictionaryObject({NameObject("/Nums"): self.numbers})
        self.root[NameObject("/ParentTree")] = self.writer._add_object(parents)
        self.root[NameObject("/ParentTreeNextKey")] = NumberObject(self.next)
        self.writer.root_object[NameObject("/StructTreeRoot")] = self.reference
        self.writer.root_object[NameObject("/MarkInfo")] = DictionaryObject(
            {NameObject("/Marked"): BooleanObject(True)}
        )
