"""Ray on this machine alone: two cores, no dashboard, no progress bars."""
import ray


def start():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=2 << 30)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
