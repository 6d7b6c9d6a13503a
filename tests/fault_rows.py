"""Which rows of the fault table are made to happen on the real stack, and where.

Each row has a unit test, too (tests/unit/job/test_faults.py): against a recorded object, an error as the borders raise
it, or a story of the engine. What is not here was tried in that way alone.
"""

ON_THE_STACK = {
    "allocation-unfit": "test_bad_specs.py::test_some_gpus_of_a_node",
    "api-forbidden": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "api-credential": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "api-outage": "test_shared_faults.py::test_the_third_time_it_is_held_and_a_breaker_spares_the_next_job",
    "api-unreachable": "test_shared_faults.py::test_the_third_time_it_is_held_and_a_breaker_spares_the_next_job",
    "bad-command": "test_fault_rows.py::test_a_command_that_is_not_there",
    "container-config": "test_fault_rows.py::test_a_variable_of_a_missing_secret",
    "disk-full": "test_broken_node.py::test_a_full_disk",
    "gpus-gone": "test_broken_node.py::test_a_device_plugin_that_is_gone",
    "het-job": "test_bad_specs.py::test_heterogeneous_job",
    "hook-mismatch": "test_upgrade.py::test_hooks_that_the_daemon_does_not_understand_wait_for_the_one_that_does",
    "container-create": "test_fault_rows.py::test_a_mount_on_a_file",
    "image-forbidden": "test_fault_rows.py::test_an_image_that_is_not_for_everybody",
    "image-missing": "test_cancel.py::test_an_image_that_does_not_exist_is_told",
    "image-name": "test_fault_rows.py::test_an_image_that_cannot_come",
    "image-never-pulled": "test_fault_rows.py::test_an_image_that_cannot_come",
    "image-no-registry": "test_fault_rows.py::test_an_image_that_cannot_come",
    "image-pulling": "test_fault_rows.py::test_a_long_pull_is_told_while_it_lasts",
    "image-unreachable": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "init-failed": "test_fault_rows.py::test_an_init_container_that_fails",
    "job-over": "test_cancel.py::test_while_the_prolog_waits_for_an_image_that_does_not_exist",
    "kubelet-dead": "test_broken_node.py::test_a_dead_kubelet",
    "leftovers": "test_release.py::test_what_lives_beyond_the_epilogs_deadline_drains_the_node_and_says_why",
    "limit-range": "test_fault_rows.py::test_a_limit_range",
    "out-of-memory": "test_fault_rows.py::test_a_rank_that_runs_out_of_memory",
    "pods-remain": "test_release.py::test_a_pod_whose_kubelet_is_dead",
    "policy": "test_fault_rows.py::test_an_admission_policy",
    "quota": "test_bad_specs.py::test_quota_that_only_the_api_server_knows",
    "rank-failed": "test_failures.py::test_one_rank_exits_3",
    "runtime-down": "test_broken_node.py::test_a_dead_container_runtime_and_the_job_runs_on_the_other_node",
    "salloc": "test_bad_specs.py::test_salloc",
    "spec-refused": "test_bad_specs.py::test_bad_spec",
    "spec-unreadable": "test_bad_specs.py::test_file_missing",
    "unschedulable-tainted": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "volume-missing": "test_fault_rows.py::test_a_volume_of_a_missing_secret",
    "webhook-down": "test_fault_rows.py::test_a_webhook_that_does_not_answer_is_nobodys_mistake",
}
