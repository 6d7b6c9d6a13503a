"""Which rows of the fault table are made to happen on the real stack, and where; and why the others are not.

Each row has a unit test, too (tests/unit/job/test_faults.py): against a recorded object, an error as the borders raise
it, or a story of the engine.
"""

_KUBELETS = "test_fault_rows.py::test_what_kubelets_say_of_images_and_containers"
_IMAGES = "test_rows_of_images.py::test_images_that_do_not_come"
_VOLUMES = "test_rows_of_pods.py::test_volumes_that_do_not_come_and_a_node_that_is_full"
_PASSES = "test_rows_of_pods.py::test_pods_that_wait_for_what_passes"
_TAKEN = "test_rows_of_pods.py::test_pods_that_are_taken_away_while_they_run"
_MEDDLED = "test_rows_of_admission.py::test_what_somebody_else_puts_into_pods"
_NAMES = "test_rows_of_admission.py::test_names_that_are_taken"
_LACKS = "test_rows_of_admission.py::test_what_bridge_toml_names_and_the_cluster_lacks"
_SAID = "test_rows_of_admission.py::test_what_admission_says_of_workload_and_pods"
_CRD = "test_rows_of_operator.py::test_a_crd_that_is_too_old_and_then_not_served"
_OPERATOR = "test_rows_of_operator.py::test_an_operator_that_is_silent_and_then_may_not_make_pods"
_OUTLIVED = "test_rows_of_servers.py::test_an_api_server_that_is_slow_or_at_fault_is_outlived"
_TRUST = "test_trust.py::test_what_is_not_trusted_is_one_state_until_it_is_mended"
_NAMESPACE = "test_rows_of_admission.py::test_a_namespace_that_is_not_there_or_not_for_long"
_HOOKS = "test_rows_of_runs.py::test_a_prolog_without_its_environment_and_a_prolog_without_a_daemon"
_KILLED = "test_rows_of_runs.py::test_hooks_that_are_killed"
_ENDED = "test_rows_of_runs.py::test_a_job_that_slurm_ends_and_a_daemon_that_has_lost_its_token"
_TOKENS = "test_rows_of_slurm.py::test_tokens_that_are_of_no_use"
_ANOTHER = "test_rows_of_slurm.py::test_another_server_in_the_place_of_slurmrestd"
_STRANGE = "test_rows_of_slurm.py::test_jobs_of_nobody_and_of_somebody_else"
_CERTIFICATE = "test_ways_to_slurmrestd.py::test_a_certificate_that_is_not_accepted_is_told_until_it_is_renewed"
_HANGS = "test_rows_of_slurm.py::test_a_slurmrestd_and_a_slurmctld_that_hang"
_IDENTITY = "test_rows_of_identity.py::test_a_node_that_kubernetes_does_not_know_and_one_that_is_another"

ON_THE_STACK = {
    "admission-denied": _SAID,
    "allocation-unfit": "test_bad_specs.py::test_some_gpus_of_a_node",
    "api-authority": _TRUST,
    "api-certificate": _TRUST,
    "api-client-expired": _TRUST,
    "api-clock": _TRUST,
    "api-conflict": "test_rows_of_servers.py::test_a_pod_that_changes_between_look_and_patch",
    "api-credential": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "api-fault": _OUTLIVED,
    "api-forbidden": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "api-kubeconfig": "test_kubeconfigs.py::test_only_the_credential_of_a_namespace_acts_there",
    "api-outage": "test_shared_faults.py::test_the_third_time_it_is_held_and_a_breaker_spares_the_next_job",
    "api-server-expired": _TRUST,
    "api-throttled": _OUTLIVED,
    "api-token-expired": _TRUST,
    "api-unreachable": "test_shared_faults.py::test_the_third_time_it_is_held_and_a_breaker_spares_the_next_job",
    "bad-command": _KUBELETS,
    "claim-missing": _VOLUMES,
    "container-config": _KUBELETS,
    "container-config-late": "test_rows_of_servers.py::test_a_kubelet_that_does_not_get_a_secret",
    "container-create": _KUBELETS,
    "container-lost": "test_rows_of_nodes.py::test_a_container_that_its_runtime_has_forgotten",
    "container-too-small": _KUBELETS,
    "crash-loop": _KUBELETS,
    "crd-missing": _CRD,
    "crd-too-old": _CRD,
    "daemon-silent": _HOOKS,
    "deadline": "test_rows_of_runs.py::test_a_prolog_whose_time_is_over_before_anything_has_failed",
    "disk-full": "test_broken_node.py::test_a_full_disk",
    "earlier-run": "test_broken_node.py::test_leftovers_of_an_earlier_run_that_will_not_die",
    "ended-by-slurm": _ENDED,
    "environment": _HOOKS,
    "evicted": _TAKEN,
    "foreign-affinity": _MEDDLED,
    "foreign-gate": _MEDDLED,
    "gpus-gone": "test_broken_node.py::test_a_device_plugin_that_is_gone",
    "gpus-missing": "test_rows_of_nodes.py::test_a_device_plugin_that_is_late",
    "gpus-unnamed": "test_rows_of_runs.py::test_gpus_of_which_a_prolog_is_told_nothing",
    "het-job": "test_bad_specs.py::test_heterogeneous_job",
    "hook-away": "test_stopped_hook.py::test_on_the_batch_node_the_job_is_requeued_and_told_why",
    "hook-left": _KILLED,
    "hook-mismatch": "test_upgrade.py::test_hooks_that_the_daemon_does_not_understand_wait_for_the_one_that_does",
    "image-broken": _IMAGES,
    "image-forbidden": _KUBELETS,
    "image-missing": "test_cancel.py::test_an_image_that_does_not_exist_is_told",
    "image-name": _KUBELETS,
    "image-never-pulled": _KUBELETS,
    "image-no-registry": _KUBELETS,
    "image-no-space": _IMAGES,
    "image-platform": _KUBELETS,
    "image-pulling": "test_rows_of_images.py::test_a_long_pull_is_told_while_it_lasts",
    "image-throttled": _IMAGES,
    "image-unreachable": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "image-untrusted": _IMAGES,
    "init-failed": _KUBELETS,
    "job-over": "test_cancel.py::test_while_the_prolog_waits_for_an_image_that_does_not_exist",
    "job-unknown": _STRANGE,
    "kubelet-dead": "test_broken_node.py::test_a_dead_kubelet",
    "kubelet-refused": "test_rows_of_nodes.py::test_a_kubelet_that_refuses_the_pod",
    "leftovers": "test_release.py::test_what_lives_beyond_the_epilogs_deadline_drains_the_node_and_says_why",
    "limit-range": "test_fault_rows.py::test_a_limit_range",
    "name-taken": _NAMES,
    "namespace-ending": _NAMESPACE,
    "namespace-missing": _NAMESPACE,
    "node-foreign": _IDENTITY,
    "node-unknown": _IDENTITY,
    "not-scanned": _KILLED,
    "not-started": "test_rows_of_nodes.py::test_a_scheduler_that_is_away",
    "object-invalid": _SAID,
    "object-too-large": _SAID,
    "operator-forbidden": _OPERATOR,
    "operator-silent": _OPERATOR,
    "out-of-memory": "test_fault_rows.py::test_a_rank_that_runs_out_of_memory",
    "pod-deleted": _TAKEN,
    "pod-failed": _TAKEN,
    "pod-security": _SAID,
    "pods-remain": "test_release.py::test_a_pod_whose_kubelet_is_dead",
    "node-identity": "test_node_identity.py::test_a_node_whose_credential_says_no_node_costs_no_job",
    "policy": "test_fault_rows.py::test_an_admission_policy",
    "predecessor": _NAMES,
    "quota": "test_bad_specs.py::test_quota_that_only_the_api_server_knows",
    "rank-failed": "test_failures.py::test_one_rank_exits_3",
    "runtime-down": "test_broken_node.py::test_a_dead_container_runtime_and_the_job_runs_on_the_other_node",
    "runtime-no-space": _PASSES,
    "salloc": "test_bad_specs.py::test_salloc",
    "sandbox": _LACKS,
    "site-object-missing": _LACKS,
    "slurm-denied": _TOKENS,
    "slurm-foreign-job": _STRANGE,
    "slurm-no-token": _ENDED,
    "slurm-refused": _HANGS,
    "slurm-service-token": _TOKENS,
    "slurm-token": _TOKENS,
    "slurmctld-silent": _HANGS,
    "slurmrestd-empty": _ANOTHER,
    "slurmrestd-certificate": _CERTIFICATE,
    "slurmrestd-unreachable": "test_shared_faults.py::test_without_slurmrestd_the_job_is_requeued_all_the_same",
    "slurmrestd-version": _ANOTHER,
    "spec-refused": "test_bad_specs.py::test_bad_spec",
    "spec-unreadable": "test_bad_specs.py::test_file_missing",
    "spec-word": "test_rows_of_runs.py::test_two_words_for_a_spec",
    "unknown": _PASSES,
    "unknown-field": _SAID,
    "unschedulable": _MEDDLED,
    "unschedulable-full": _VOLUMES,
    "unschedulable-tainted": "test_shared_faults.py::test_what_all_nodes_share_drains_none",
    "volume-attach": _VOLUMES,
    "volume-missing": _KUBELETS,
    "volume-mount": _VOLUMES,
    "webhook-denied": _SAID,
    "webhook-down": "test_fault_rows.py::test_a_webhook_that_does_not_answer_is_nobodys_mistake",
    "workload-deleted": _TAKEN,
}

# What cannot be made to happen on this stack.
NOT_HERE = {
    "admission-starting": "lasts a moment after a start of the API server, and no client can hold it there",
    "api-expired": "the watch lists anew by itself and tells nobody",
    "bridge-bug": "would need a bug",
    "evicted-for-storage": "the kubelets of the stack do not account for disk space (localStorageCapacityIsolation)",
    "gpu-runtime": "needs NVIDIA's container runtime",
    "image-backoff": "only kubelets before Kubernetes 1.32 hide the cause",
    "image-needs-driver": "needs NVIDIA's container runtime",
    "image-signature": "containerd checks no signatures; CRI-O does",
    "node-pressure": "as node-short",
    "node-short": "a kubelet in a container finds no file system of its images, and never tells of pressure",
    "node-shutdown": "the kubelet's graceful shutdown needs systemd-logind, which the nodes' containers lack",
    "runtime-slow": "the kubelet waits two minutes before it says so, and calls a runtime that hangs down before that",
    "smt-alignment": "needs a processor with two threads a core, which not every machine of the tests has",
    "spec-broken": "would need a bug in the renderer",
    "topology": "needs several NUMA nodes",
}
