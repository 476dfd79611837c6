"""Write bot/analyze/engines/data/tokenizer-methods.json: the names of what can be called on a tokenizer of transformers.

Run it in an environment of each version in turn, the first time with --anew: "every" keeps the names that all of them have, "some" the others.
"""

import argparse
import json
from pathlib import Path

import transformers
from tokenizers import Tokenizer, models

OUT = Path(__file__).parent.parent / "bot/analyze/engines/data/tokenizer-methods.json"


def main() -> None:
    """Merge the names of the installed version into the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--anew", action="store_true")
    anew = parser.parse_args().anew
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    here = {name for name in dir(tokenizer) if callable(getattr(tokenizer, name, None))}
    before = {"versions": [], "every": [*here], "some": []} if anew else json.loads(OUT.read_text())
    every = here & {*before["every"]}
    some = (here | {*before["every"]} | {*before["some"]}) - every
    versions = [*before["versions"], transformers.__version__]
    OUT.write_text(json.dumps({"versions": versions, "every": sorted(every), "some": sorted(some)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
