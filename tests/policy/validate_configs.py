"""Checks that every shipped policy satisfies policy.schema.json, with the jsonschema package.

Usage: validate_configs.py CONFIGS_FOLDER
"""

import json
import pathlib
import sys

import jsonschema


def main(folder: pathlib.Path) -> int:
    schema = json.loads((folder / "policy.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    policies = [path for path in sorted(folder.glob("*.json")) if not path.name.endswith(".schema.json")]
    faults = 0
    for path in policies:
        for error in validator.iter_errors(json.loads(path.read_text(encoding="utf-8"))):
            print(f"{path}: {error.json_path}: {error.message}")
            faults += 1
    print(f"{len(policies)} policies, {faults} faults")
    return 1 if faults or not policies else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
