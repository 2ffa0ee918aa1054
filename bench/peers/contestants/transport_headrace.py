"""Small records one by one, or in batches, from a Headrace worker to this process."""
import contestant
import headrace as hr
import headrace_cluster


def make(args):
    pipeline = hr.read(args["tfrecord"])
    if args["batch"]:
        pipeline = pipeline.batch(args["batch"])
    if args["take"]:
        pipeline = pipeline.take(args["take"])
    cluster = hr.connect(headrace_cluster.start(args["headrace"]))
    loader = cluster.stream(pipeline, job="records")

    def run():
        records = size = 0
        if args["batch"]:
            for batch in loader:
                column = batch["record"]
                records += len(column)
                size += len(column[0])
        else:
            for element in loader:
                records += 1
                size += len(element["record"])
        return {"records": records, "batch": args["batch"] or 1}

    return run


contestant.serve(make)
