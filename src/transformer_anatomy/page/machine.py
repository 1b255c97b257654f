"""On what something was measured, in words, without names of hosts or paths."""

import platform
import re
import subprocess
from pathlib import Path

import joblib


def machine() -> str:
    """Cores, processor and system, as in "2 cores of an AMD EPYC 7763, Linux on x86_64"."""
    cores = joblib.cpu_count()  # those that this process may use
    name = processor()
    article = "an" if name[0] in "AEIOaeio" else "a"
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    return f"{cores} core{'s' * (cores > 1)} of {article} {name}, {system} on {platform.machine()}"


def processor() -> str:
    """The processor's name without marks and without what all processors are; where none is told, its architecture."""
    try:
        if platform.system() == "Darwin":
            told = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True).stdout
        else:
            cores = Path("/proc/cpuinfo").read_text(encoding="utf-8")
            told = "".join(re.findall(r"^model name\s*:\s*(.+)$", cores, re.MULTILINE)[:1])
    except OSError:
        told = ""
    words = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor|Virtual|\d+-Core)\b|@.*", " ", told).split()
    return " ".join(words) or f"{platform.machine() or 'unknown'} processor"
