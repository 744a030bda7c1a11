"""Each form is read by the program that it is for, or by that program's own schema."""

import csv
import io
import json

import pytest
from PIL import Image

from clew.answers import Answer, Question
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.exports import Member
from clew.exports._forms import (
    GROUP_COLUMNS,
    answer_records,
    camtrap_dp,
    coco,
    fiftyone,
    group_records,
    label_studio,
    table_bytes,
)
from clew.items import Item

META = {"deployment": "cam 1", "latitude": 59.9, "longitude": 10.7, "date": "2024:05:31 08:25:38"}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "sea").mkdir()
    for name in ("a.png", "sea/b.png", "c.png"):
        Image.new("RGB", (40, 30), "navy").save(tmp_path / name)
    return tmp_path


@pytest.fixture
def images():
    """Two groups of images, one without a name, and an image in no group."""
    return [
        Member(Item("a", "image", path="a.png", meta=META), 4, "lynx", 0.75, 0, "", 3),
        Member(Item("b", "image", path="sea/b.png", meta=META), 7, "", 0.4, None, "between groups"),
        Member(Item("c", "image", path="c.png", meta=META), None),
    ]


@pytest.fixture
def boxes():
    """Two boxes in one photo, and one in another."""

    def box(name, path, region):
        return Item(name, "image", path=path, region=region, meta=META)

    return [
        Member(box("a#1", "a.png", (4, 3, 10, 15)), 4, "lynx", 0.9),
        Member(box("a#2", "a.png", (0, 0, 40, 30)), 7, "fox", 0.8),
        Member(box("b#1", "sea/b.png", (1, 1, 2, 2)), 4, "lynx", 1.0),
    ]


# Tables ------------------------------------------------------------------------------------


def test_csv_escapes_formulas():
    hostile = Member(Item('=HYPERLINK("x")', "row"), 1, "@SUM(1)", 0.5, None, "", 2)
    text = table_bytes("csv", GROUP_COLUMNS, group_records([hostile]))
    (row,) = csv.DictReader(io.StringIO(text.decode()))
    assert row["id"] == '\'=HYPERLINK("x")'
    assert row["name"] == "'@SUM(1)"
    assert (row["group"], row["confidence"], row["doubtful"]) == ("1", "0.5000", "false")


def test_parquet_and_json_lines(images):
    pq = pytest.importorskip("pyarrow.parquet")
    records = group_records(images)
    stored = table_bytes("parquet", GROUP_COLUMNS, records)
    assert pq.read_table(io.BytesIO(stored)).to_pylist() == records
    lines = table_bytes("jsonl", GROUP_COLUMNS, records).decode().splitlines()
    assert [json.loads(line) for line in lines] == records


def test_unknown_form_is_refused():
    with pytest.raises(InvalidParameterError, match="coco is no form of a table"):
        table_bytes("coco", (), [])


def test_answers_as_a_table():
    pair = Answer(Question("pair", ids=("a", "b")), "same", "ann", id="1f")
    triplet = Answer(Question("triplet", ids=("a", "b", "c")), "second", "ben", 0.5, id="2e")
    other = Answer(Question("which_of", ids=tuple("abcd"), parts=(1, 1, 2)), 1, "ann", id="3d")
    assert answer_records([pair, other, triplet]) == [
        {"kind": "pair", "id_i": "a", "id_j": "b", "id_k": "", "answer": "same",
         "annotator": "ann", "weight": 1.0, "entry": "1f"},
        {"kind": "triplet", "id_i": "a", "id_j": "b", "id_k": "c", "answer": "second",
         "annotator": "ben", "weight": 0.5, "entry": "2e"},
    ]  # fmt: skip


# Pictures ----------------------------------------------------------------------------------


def test_coco_is_read_by_pycocotools(root, boxes):
    pycocotools = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    (root / "coco.json").write_bytes(coco(boxes, root)["coco.json"])
    read = pycocotools.COCO(str(root / "coco.json"))
    assert {cat["id"]: cat["name"] for cat in read.loadCats(read.getCatIds())} == {
        4: "lynx", 7: "fox",
    }  # fmt: skip
    (image,) = [one for one in read.loadImgs(read.getImgIds()) if one["file_name"] == "a.png"]
    found = read.loadAnns(read.getAnnIds(imgIds=[image["id"]], catIds=[4]))
    assert [(one["bbox"], one["area"], one["clew_id"]) for one in found] == [
        ([4, 3, 10, 15], 150, "a#1")
    ]
    assert read.annToMask(found[0]).shape == (30, 40) if "segmentation" in found[0] else True


def test_coco_round_trip(root, boxes):
    from clew.collections import read_collection

    (root / "coco.json").write_bytes(coco(boxes, root)["coco.json"])
    items = read_collection(root / "coco.json").items
    assert [(item.path, item.region, item.meta["category"]) for item in items] == [
        ("a.png", (4, 3, 10, 15), "lynx"), ("a.png", (0, 0, 40, 30), "fox"),
        ("sea/b.png", (1, 1, 2, 2), "lynx"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["images", "boxes", "texts"])
def test_label_studio_validates(root, name, request):
    interface = pytest.importorskip(
        "label_studio_sdk.label_interface", reason="label-studio-sdk is not installed"
    )
    files = label_studio(_members(name, request), root)
    made = interface.LabelInterface(files["interface.xml"].decode())
    made.validate()
    tasks = json.loads(files["tasks.json"])
    assert all(made.validate_task({"data": task["data"]}) for task in tasks)
    for task in tasks:
        for prediction in task["predictions"]:
            assert made.validate_prediction(prediction, return_errors=True) == []


def _members(name, request):
    if name != "texts":
        return request.getfixturevalue(name)
    return [Member(Item("t", "text", text="a <b>"), 1, 'the "first" & only', 0.5)]


def test_label_studio_has_what_its_format_documents(root, boxes, images):
    files = label_studio(boxes, root)
    first, second = json.loads(files["tasks.json"])
    assert first["data"] == {"image": "/data/local-files/?d=a.png", "clew_id": "a.png"}
    (prediction,) = first["predictions"]
    assert prediction["score"] == 0.8
    result = prediction["result"][0]
    assert (result["original_width"], result["original_height"]) == (40, 30)
    assert result["value"] == {
        "x": 10, "y": 10, "width": 25, "height": 50, "rotation": 0, "rectanglelabels": ["lynx"],
    }  # fmt: skip
    assert second["data"]["image"] == "/data/local-files/?d=sea/b.png"
    assert b'<RectangleLabels name="group" toName="item">' in files["interface.xml"]
    tasks = json.loads(label_studio(images, root)["tasks.json"])
    assert [each["predictions"][0]["result"] for each in tasks][1:] == [
        [{"from_name": "group", "to_name": "item", "type": "choices",
          "value": {"choices": ["group 8"]}}],
        [],
    ]  # fmt: skip


def test_fiftyone_has_what_its_formats_document(root, images, boxes):
    files = fiftyone(images, root)
    labels, data = json.loads(files["labels.json"]), json.loads(files["data.json"])
    assert labels["classes"] == ["lynx", "group 8"]
    assert data.keys() == labels["labels"].keys()
    assert data["sea__b.png"] == str(root / "sea" / "b.png")
    assert labels["labels"]["sea__b.png"] == {
        "label": 1, "confidence": 0.4, "attributes": {"clew_id": "b", "doubt": "between groups"},
    }  # fmt: skip
    assert labels["labels"]["c.png"] is None
    found = json.loads(fiftyone(boxes, root)["labels.json"])["labels"]
    assert found["a.png"][0]["bounding_box"] == [0.1, 0.1, 0.25, 0.5]
    assert all(0 <= x <= 1 for each in found.values() for one in each for x in one["bounding_box"])


@pytest.mark.parametrize("form", [coco, fiftyone])
def test_only_images_go_into_programs_for_images(root, form):
    with pytest.raises(InvalidDataError, match=r"takes items of the kind image.*use --as csv"):
        form([Member(Item("t", "text", text="a"), 1)], root)


# Camera traps ------------------------------------------------------------------------------

STRING = {"type": "string"}
WHEN = {"type": "datetime", "format": "%Y-%m-%dT%H:%M:%S%z", "constraints": {"required": True}}
SHARE = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}}
KEY = {"type": "string", "constraints": {"required": True, "unique": True}}
NEEDED = {"type": "string", "constraints": {"required": True}}


def _one_of(*values, required=True):
    return {"type": "string", "constraints": {"required": required, "enum": list(values)}}


def _degrees(most):
    limits = {"required": True, "minimum": -most, "maximum": most}
    return {"type": "number", "constraints": limits}


#: What Camtrap DP 1.0 says of the columns that clew writes.
CAMTRAP = {
    "deployments": {
        "deploymentID": KEY, "locationID": STRING, "locationName": STRING,
        "latitude": _degrees(90), "longitude": _degrees(180), "deploymentStart": WHEN,
        "deploymentEnd": WHEN,
    },
    "media": {
        "mediaID": KEY, "deploymentID": NEEDED, "timestamp": WHEN,
        "filePath": {"type": "string", "constraints": {
            "required": True, "pattern": r"^(?=^[^./~])(^((?!\.{2}).)*$).*$"}},
        "filePublic": {"type": "boolean", "constraints": {"required": True}},
        "fileName": STRING,
        "fileMediatype": {"type": "string", "constraints": {
            "required": True, "pattern": r"^(image|video|audio)/.*$"}},
    },
    "observations": {
        "observationID": KEY, "deploymentID": NEEDED, "mediaID": STRING,
        "eventStart": WHEN, "eventEnd": WHEN, "observationLevel": _one_of("media", "event"),
        "observationType": _one_of(
            "animal", "human", "vehicle", "blank", "unknown", "unclassified"
        ),
        "scientificName": STRING, "individualID": STRING, "bboxX": SHARE, "bboxY": SHARE,
        "bboxWidth": SHARE, "bboxHeight": SHARE,
        "classificationMethod": _one_of("human", "machine", required=False),
        "classifiedBy": STRING,
        "classificationTimestamp": WHEN | {"constraints": {}},
        "classificationProbability": SHARE, "observationComments": STRING,
    },
}  # fmt: skip
FOREIGN = {
    "media": [("deploymentID", "deployments")],
    "observations": [("deploymentID", "deployments"), ("mediaID", "media")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "boxes"])
def test_camtrap_dp_validates(root, name, request, monkeypatch):
    frictionless = pytest.importorskip("frictionless", reason="frictionless is not installed")
    files = camtrap_dp(request.getfixturevalue(name), root, name="Oslo, May")
    package = json.loads(files["datapackage.json"])
    for resource in package["resources"]:
        table = resource["name"]
        assert resource["schema"].endswith(f"/{table}-table-schema.json")
        fields = [{"name": column} | kind for column, kind in CAMTRAP[table].items()]
        keys = [
            {"fields": [field], "reference": {"resource": other, "fields": [field]}}
            for field, other in FOREIGN.get(table, ())
        ]
        resource["schema"] = {"fields": fields, "missingValues": [""], "foreignKeys": keys}
    package.pop("profile")  # on the network
    for file, content in files.items():
        (root / file).write_bytes(content)
    (root / "datapackage.json").write_text(json.dumps(package))
    report = frictionless.validate(str(root / "datapackage.json"))
    assert report.flatten(["type", "message"]) == []
    assert package["name"] == "oslo-may"


def test_camtrap_dp_says_what_is_seen(root, boxes, images):
    files = camtrap_dp(boxes, root, name="x")
    rows = list(csv.DictReader(io.StringIO(files["observations.csv"].decode())))
    assert [row["scientificName"] for row in rows] == ["lynx", "fox", "lynx"]
    assert (rows[0]["bboxX"], rows[0]["bboxHeight"]) == ("0.1000", "0.5000")
    assert rows[0]["eventStart"] == "2024-05-31T08:25:38Z"
    assert len(list(csv.DictReader(io.StringIO(files["media.csv"].decode())))) == 2
    files = camtrap_dp(images, root, name="x", individuals=True)
    rows = list(csv.DictReader(io.StringIO(files["observations.csv"].decode())))
    assert [row["individualID"] for row in rows] == ["lynx", "group 8", ""]
    assert [row["observationType"] for row in rows] == ["animal", "animal", "unclassified"]
    assert json.loads(files["datapackage.json"])["project"]["individualAnimals"] is True


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"latitude": None}, "the latitude of every photo, and 'a' has none"),
        ({"latitude": "north"}, "'north' is not a number of degrees"),
        ({"longitude": 200}, "'200' is not a number of degrees"),
        ({"date": "yesterday"}, "'yesterday' is not one like"),
    ],
)
def test_camtrap_dp_names_what_is_missing(root, change, problem):
    member = Member(Item("a", "image", path="a.png", meta=META | change), 1, "lynx")
    with pytest.raises(InvalidDataError, match=problem):
        camtrap_dp([member], root, name="x")
