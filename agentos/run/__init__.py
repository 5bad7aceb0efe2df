"""Run many items: start workers, watch them, publish results and report.

`batch.run_batch` runs a workflow command and `calibration.calibrate` a calibration; both
are called by `agentos.cli` alone. `item_run` handles one item, `schedule` decides which
starts next, `console` owns the terminal and `report` holds what remains of a run. Begin
reading with `batch`.
"""
