"""What is said of the libraries inside a package."""

import json

import pytest

from packer import sbom, source
from packer.wheels import Library

_ONE = Library("one", "1.0", "MIT", "https://one.example", "a" * 64, ("one-1.0.dist-info/licenses/LICENSE",))
_TWO = Library("two", "2.0", "BSD License", "", "b" * 64, ())


def test_each_library_is_a_component_with_its_hash() -> None:
    document = json.loads(sbom.cyclonedx([_TWO, _ONE], 0))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    assert document["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert document["metadata"]["component"]["version"] == source.version()
    first, second = document["components"]
    assert first["purl"] == "pkg:pypi/one@1.0"
    assert first["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert second["licenses"] == [{"license": {"name": "BSD License"}}]
    assert document["dependencies"][0]["dependsOn"] == ["pkg:pypi/one@1.0", "pkg:pypi/two@2.0"]


def test_the_same_libraries_give_the_same_bytes() -> None:
    assert sbom.cyclonedx([_ONE, _TWO], 7) == sbom.cyclonedx([_TWO, _ONE], 7)
    assert (
        json.loads(sbom.cyclonedx([_ONE], 7))["serialNumber"] != json.loads(sbom.cyclonedx([_TWO], 7))["serialNumber"]
    )


@pytest.mark.parametrize(
    "line",
    [
        "| one | 1.0 | MIT | `one-1.0.dist-info/licenses/LICENSE` |",
        "| two | 2.0 | BSD License | in its METADATA |",
    ],
)
def test_the_list_of_licences_has_a_line_for_each(line: str) -> None:
    assert line in sbom.licences([_TWO, _ONE], "/site").splitlines()
