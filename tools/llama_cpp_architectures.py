"""Write the architectures that the converter of llama.cpp knows: `python -m tools.llama_cpp_architectures TREE`, TREE being a checkout of ggml-org/llama.cpp.

`architectures` are the names that the text models of conversion/*.py register, `own_ends` those whose class sets EOS, EOT or EOM by itself. Nothing of the
tree is imported: its files are parsed.
"""

import ast
import json
import re
import sys
from pathlib import Path

OUT = Path(__file__).parent.parent / "bot/analyze/engines/data/llama.cpp-2026-10-01.json"
_PROJECTOR = "MmprojModel"  # encoders of images and sounds, which have no vocabulary
_LLAMA = "LlamaModel"  # calls ways of other families for what its own callers settle by files, so it is not followed
_SETS = re.compile(r"_set_special_token\('(eos|eot|eom)'|add_(eos|eot|eom)_token_id|special_token_ids\['(eos|eot|eom)'\]")


class _Class:
    """A class of the tree: the names of its bases, the architectures that it registers, its methods as text."""

    def __init__(self, node: ast.ClassDef) -> None:
        self.bases = [
            base.id if isinstance(base, ast.Name) else base.attr
            for base in node.bases
            if isinstance(base, ast.Name | ast.Attribute)
        ]
        calls = [call for call in node.decorator_list if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)]
        registers = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "register"]
        self.registers = [str(name.value) for call in registers for name in call.args if isinstance(name, ast.Constant)]
        self.methods = {part.name: ast.unparse(part) for part in node.body if isinstance(part, ast.FunctionDef)}


def _line(classes: dict[str, _Class], name: str) -> list[str]:
    """A class and its bases, in the order in which a method is looked for."""
    found = [name]
    for base in classes[name].bases:
        found += [each for each in (_line(classes, base) if base in classes else [base]) if each not in found]
    return found


def _sets_ends(classes: dict[str, _Class], line: list[str]) -> bool:
    """Whether making the vocabulary of a class sets an end token."""
    known = [name for name in line if name in classes]
    todo = [("set_vocab", 0), ("set_gguf_parameters", 0)]
    done: set[tuple[str, int]] = set()
    while todo:
        method, above = todo.pop()
        holder = next((i for i, name in enumerate(known) if i >= above and method in classes[name].methods), None)
        if holder is None or (method, holder) in done or (known[holder] == _LLAMA and method == "set_vocab"):
            continue
        done.add((method, holder))
        text = classes[known[holder]].methods[method]
        if _SETS.search(text):
            return True
        todo += [(call, 0) for call in re.findall(r"self\.(\w+)\(", text)]
        todo += [(call, holder + 1) for call in re.findall(r"super\(\)\.(\w+)\(", text)]
    return False


def architectures(tree: Path) -> dict[str, list[str]]:
    """The table of a checkout."""
    classes: dict[str, _Class] = {}
    for path in sorted((tree / "conversion").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name] = _Class(node)
    lines = {name: _line(classes, name) for name, each in classes.items() if each.registers}
    texts = {name: line for name, line in lines.items() if _PROJECTOR not in line}
    own = {name for name, line in texts.items() if _sets_ends(classes, line)}
    return {
        "architectures": sorted({each for name in texts for each in classes[name].registers}),
        "own_ends": sorted({each for name in own for each in classes[name].registers}),
    }


if __name__ == "__main__":
    OUT.write_text(json.dumps(architectures(Path(sys.argv[1])), indent=1) + "\n", "utf-8")
