"""The reader of ElasticFlow's traces."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched.base.source import Source
from gpusched.traces.format_registry import detect
from gpusched.traces.reading import read_trace


def test_deadlines_are_on_the_clock_of_the_submissions(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
        "x,16566,40285,bert,21347,64,4,3890\n"
        "y,16570,1,vgg16,16569,64,1,10\n"
    )

    trace = read_trace(path)

    assert detect(Source(path)).name == "elasticflow"
    assert trace.id.tolist() == ["x"]
    assert trace.gpus.tolist() == [4]
    assert trace.service_s.tolist() == [3890]
    assert trace.deadline_s is not None
    assert trace.deadline_s.tolist() == [21347 - 16566]
    assert trace.group is not None
    assert trace.group[0] == "bert"
    assert trace.rejects.counts == {"deadline must lie after the submission": 1}


def test_jobs_of_best_effort_have_no_deadline(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n"
        "0,0,77215,resnet,4426,256,1,3930,0\n"
        "1,2811,94898,resnet,9179,256,1,4830,1\n"
        "2,2811,94898,resnet,9179,256,1,4830,2\n"
    )

    trace = read_trace(path)

    assert trace.deadline_s is not None
    assert trace.deadline_s[0] == 4426
    assert np.isnan(trace.deadline_s[1])
    assert trace.rejects.counts == {"best_effort must be 0 or 1": 1}


def test_a_column_that_is_missing_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("job_id,submit_time\n1,2\n")

    with pytest.raises(ValueError, match=r"a.csv, line 1: column 'iteration' is missing"):
        read_trace(path, format="elasticflow")
