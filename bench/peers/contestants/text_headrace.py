"""Text by Headrace: a dispatcher, one worker, and this process as the trainer."""
import contestant
import headrace as hr
import headrace_cluster


def make(args):
    pipeline = (hr.read(args["jsonl"]).json_fields(question=hr.bytes_, answer=hr.bytes_).tokenize("question", model=args["model"])
                .tokenize("answer", model=args["model"]).padded_batch(64, lengths="_length"))
    cluster = hr.connect(headrace_cluster.start(args["headrace"]))
    loader = cluster.stream(pipeline, job="text")

    def run():
        batches, tokens = contestant.Batches(), 0
        for batch in loader:
            batches.take(batch["question"])
            tokens += int(batch["question_length"].sum()) + int(batch["answer_length"].sum())
        return batches.result(tokens=tokens)

    return run


contestant.serve(make)
