"""Small records one by one, or in batches, from a tf.data service worker to this process: uncompressed, read ahead on both sides."""
import contestant
import tensorflow as tf
import tf_service


def make(args):
    service = tf.data.experimental.service
    dataset = tf.data.TFRecordDataset(args["tfrecord"])
    if args["batch"]:
        dataset = dataset.batch(args["batch"], num_parallel_calls=tf.data.AUTOTUNE)
    if args["take"]:
        dataset = dataset.take(args["take"])
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    dataset = dataset.apply(service.distribute(service.ShardingPolicy.OFF, "grpc://" + tf_service.start(), compression=None))
    dataset = dataset.prefetch(tf.data.AUTOTUNE)

    def run():
        records = size = 0
        if args["batch"]:
            for batch in dataset.as_numpy_iterator():
                records += len(batch)
                size += len(batch[0])
        else:
            for record in dataset.as_numpy_iterator():
                records += 1
                size += len(record)
        return {"records": records, "batch": args["batch"] or 1}

    return run


contestant.serve(make)
