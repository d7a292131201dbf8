"""Names of batch files: their form and their order."""

from impl.reference.pipeline.queue_folder import final_name, is_temporary, parse_batch_name, temporary_name


def order(*texts: str) -> list[str]:
    names = [name for text in texts if (name := parse_batch_name(f"{text}.npz"))]
    return [name.text.removesuffix(".npz") for name in sorted(names, key=lambda name: name.order)]


def test_files_stand_in_the_order_of_their_numbers() -> None:
    assert order("10-000000-1", "9-000001-1") == ["9-000001-1", "10-000000-1"]
    assert order("5-1000000-1", "5-999999-1") == ["5-999999-1", "5-1000000-1"]


def test_names_have_the_form_of_the_seed() -> None:
    assert final_name(1700000000000, 7, 100, ".pt") == "1700000000000-000007-100.pt"
    assert final_name(1, 1234567, 1, ".npz") == "1-1234567-1.npz"
    assert temporary_name(1700000000000, 7, ".pt") == ".tmp-1700000000000-000007.pt"
    assert is_temporary(".tmp-1-000000.npz")


def test_a_name_has_the_ending_of_a_codec() -> None:
    endings = (".pt", ".npz", ".pth", "")
    assert [ending for ending in endings if parse_batch_name(f"1-2-3{ending}")] == [".pt", ".npz"]
