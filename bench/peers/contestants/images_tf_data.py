"""Images by tf.data, in this process or by tf.data service (one dispatcher, one worker). As tensorflow.org/guide/data_performance has
it: decode_and_crop_jpeg (only the part that is kept is decoded), AUTOTUNE for every map, order given up, prefetch at the end."""
import contestant
import tensorflow as tf
import tf_service

MEAN = tf.constant([0.485, 0.456, 0.406]) * 255
SCALE = 1 / (tf.constant([0.229, 0.224, 0.225]) * 255)
AUTOTUNE = tf.data.AUTOTUNE


def image(example):
    jpeg = tf.io.parse_single_example(example, {"image": tf.io.FixedLenFeature([], tf.string)})["image"]
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(jpeg), bounding_boxes=tf.zeros([1, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10, use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    pixels = tf.io.decode_and_crop_jpeg(jpeg, window, channels=3)
    pixels = tf.image.resize(pixels, (224, 224))  # bilinear, without antialiasing: its default, and cheaper
    pixels = tf.image.random_flip_left_right(pixels)
    return (pixels - MEAN) * SCALE


def make(args):
    options = tf.data.Options()
    options.deterministic = False
    dataset = (tf.data.Dataset.list_files(args["tfrecord"])
               .interleave(tf.data.TFRecordDataset, num_parallel_calls=AUTOTUNE, deterministic=False)
               .map(image, num_parallel_calls=AUTOTUNE).batch(64, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE).with_options(options))
    if args["service"]:
        # compression=None: on one machine Snappy costs more than it saves. DYNAMIC: every record once, as Headrace gives them.
        service = tf.data.experimental.service
        dataset = dataset.apply(service.distribute(service.ShardingPolicy.DYNAMIC, "grpc://" + tf_service.start(), compression=None))
        dataset = dataset.prefetch(AUTOTUNE)

    def run():
        batches = contestant.Batches()
        for batch in dataset.as_numpy_iterator():
            batches.take(batch)
        return batches.result()

    return run


contestant.serve(make)
