"""Images by Headrace: a dispatcher, one worker, and this process as the trainer."""
import contestant
import headrace as hr
import headrace_cluster

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def make(args):
    pipeline = (hr.read(args["tfrecord"]).parse_example(image=hr.bytes_).decode_image("image")
                .random_resized_crop("image", [224, 224]).random_flip("image").normalize("image", mean=MEAN, std=STD).batch(64))
    cluster = hr.connect(headrace_cluster.start(args["headrace"]))
    loader = cluster.stream(pipeline, job="images")

    def run():
        batches = contestant.Batches()
        for batch in loader:
            batches.take(batch["image"])
        return batches.result()

    return run


contestant.serve(make)
