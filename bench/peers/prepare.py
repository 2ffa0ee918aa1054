"""Writes a contestant's own container from the same files: prepare.py WHAT SOURCE DESTINATION."""
import pathlib
import shutil
import sys


def photographs(folder):
    return sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in (".jpeg", ".jpg"))


def mds(source, destination):
    from streaming import MDSWriter

    with MDSWriter(out=str(destination), columns={"image": "bytes"}, size_limit=16 << 20) as writer:
        for path in photographs(source):
            writer.write({"image": path.read_bytes()})


def array_record(source, destination):
    from array_record.python.array_record_module import ArrayRecordWriter

    destination.mkdir()
    writer = ArrayRecordWriter(str(destination / "images.array_record"), "group_size:1")
    for path in photographs(source):
        writer.write(path.read_bytes())
    writer.close()


def sentencepiece(source, destination):
    """A unigram model of 8,000 pieces over the fields' text."""
    import json

    import sentencepiece as spm

    texts = []
    for line in pathlib.Path(source).read_text().split("\n")[:-1]:
        record = json.loads(line)
        texts += [*record["question"].split("\n"), *record["answer"].split("\n")]
    destination.mkdir()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_prefix=str(destination / "spm"), vocab_size=8000,
                                   model_type="unigram", minloglevel=2)


if __name__ == "__main__":
    what, source, destination = sys.argv[1:]
    part = pathlib.Path(destination + ".part")
    shutil.rmtree(part, ignore_errors=True)
    {"mds": mds, "array_record": array_record, "sentencepiece": sentencepiece}[what](source, part)
    part.rename(destination)
