"""The rows of the table for a pod template: metadata, PodSpec, Container and Volume of Kubernetes 1.36."""

from dataclasses import replace

from bridge.job.treatments import Row, Shape, hide, keep, put, put_by_rule, refuse, translate, under

_SLURM_PLACES = "left out: Slurm has chosen the nodes, use sbatch --constraint or --nodelist"
_JOB_USER = "replaced by the user and groups of the Slurm job"
_SITE = "replaced by what the site has set"
_NO_HOST = "remove it: pods have no namespaces of the host"
_ASK_SITE = "ask the site for a volume of its own that holds the data"
_FULLY_GIVEN = "remove it and ask Slurm instead, with --cpus-per-task, --mem and --gpus-per-node"

TEMPLATE_METADATA = (
    keep("labels", Shape.TEXT_MAP),
    keep("annotations", Shape.TEXT_MAP),
    hide("name"),
    hide("creationTimestamp"),
    put("namespace", _SITE),
    refuse("finalizers", "remove them: they would keep the pod, and with it the node, for ever"),
)

ENV = (
    keep("name", Shape.TEXT),
    replace(keep("value", Shape.TEXT), private=True),
    keep("valueFrom.configMapKeyRef.**"),
    keep("valueFrom.fieldRef.**"),
    keep("valueFrom.fileKeyRef.**"),
    keep("valueFrom.resourceFieldRef.**"),
    keep("valueFrom.secretKeyRef.**"),
)
ENV_FROM = (keep("prefix", Shape.TEXT), keep("configMapRef.**"), keep("secretRef.**"))
PORTS = (
    keep("containerPort", Shape.NUMBER),
    keep("name", Shape.TEXT),
    keep("protocol", Shape.TEXT),
    refuse("hostPort", "remove it: the pods of all jobs on a node would fight for it", 0),
    refuse("hostIP", "remove it: pods have no addresses of the host", ""),
)
MOUNTS = (
    keep("name", Shape.TEXT),
    keep("mountPath", Shape.TEXT),
    keep("readOnly", Shape.SWITCH),
    keep("recursiveReadOnly", Shape.TEXT),
    keep("subPath", Shape.TEXT),
    keep("subPathExpr", Shape.TEXT),
    put("mountPropagation", "left out: pods do not share mounts", "None"),
    put("bindMountOptions.**", "left out: the site decides how its volumes are mounted"),
)
SECURITY = (
    put("allowPrivilegeEscalation", "replaced by false: the pods have no privileges", False),
    put("appArmorProfile.**", "left out: the node's default holds"),
    translate("capabilities.add", Shape.TEXTS, "becomes the site's RDMA resource where it is IPC_LOCK"),
    put("capabilities.drop", "replaced by ALL: the pods run without capabilities", ["ALL"], ["all"]),
    translate("privileged", Shape.SWITCH, "becomes the site's RDMA resource"),
    refuse("procMount", "remove it: the pods see /proc as the runtime masks it", "Default"),
    keep("readOnlyRootFilesystem", Shape.SWITCH),
    put("runAsGroup", _JOB_USER),
    put("runAsNonRoot", "replaced by true: pods run as the user of the Slurm job", True),
    put("runAsUser", _JOB_USER),
    put("seLinuxOptions.**", "left out: the node's default holds"),
    put("seccompProfile.**", "replaced by RuntimeDefault", {"type": "RuntimeDefault"}),
    refuse("windowsOptions.**", "remove it: the nodes run Linux"),
)
ELSEWHERE = "remove it: the kubelet asks the pod itself and nobody else"
HANDLER = (
    keep("exec.**"),
    keep("sleep.**"),
    *under("httpGet", (keep("path", Shape.TEXT), keep("port"), keep("scheme", Shape.TEXT), keep("httpHeaders.**"))),
    refuse("httpGet.host", ELSEWHERE, ""),
    keep("tcpSocket.port"),
    refuse("tcpSocket.host", ELSEWHERE, ""),
)
_PROBE = "left out for the training container: the prolog takes a started container for ready"

CONTAINER = (
    keep("name", Shape.TEXT),
    keep("image", Shape.TEXT),
    keep("imagePullPolicy", Shape.TEXT),
    keep("command", Shape.TEXTS),
    keep("args", Shape.TEXTS),
    keep("workingDir", Shape.TEXT),
    *under("env[]", ENV),
    *under("envFrom[]", ENV_FROM),
    *under("ports[]", PORTS),
    *under("volumeMounts[]", MOUNTS),
    put_by_rule("resources.limits", Shape.AMOUNTS, "the job's share of the node"),
    put_by_rule("resources.requests", Shape.AMOUNTS, "the job's share of the node"),
    refuse("resources.claims", _FULLY_GIVEN, []),
    *under("securityContext", SECURITY),
    put_by_rule("livenessProbe.**", Shape.ANY, _PROBE),
    put_by_rule("readinessProbe.**", Shape.ANY, _PROBE),
    put_by_rule("startupProbe.**", Shape.ANY, _PROBE),
    *under("lifecycle.postStart", HANDLER),
    *under("lifecycle.preStop", HANDLER),
    put("lifecycle.stopSignal", "left out: the image's own signal ends it"),  # and Kubernetes wants os.name beside it
    keep("terminationMessagePath", Shape.TEXT),
    keep("terminationMessagePolicy", Shape.TEXT),
    put("stdin", "left out: nobody can type into a batch job", False),
    put("stdinOnce", "left out: nobody can type into a batch job", False),
    put("tty", "left out: a batch job has no terminal", False),
    put("resizePolicy", "left out: the allocation does not change while the job runs"),
    refuse("restartPolicyRules", "remove them: a failed run ends its Slurm job", []),
    refuse("volumeDevices", _ASK_SITE, []),
)
_MAIN_RESTART = put("restartPolicy", "left out: a failed run ends its Slurm job", "Never")
_INIT_RESTART = keep("restartPolicy", Shape.TEXT)

_FOREIGN_VOLUMES = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)
_NO_TOKEN = "remove it: the pods have no identity in Kubernetes"
PROJECTED_SOURCES = (
    keep("clusterTrustBundle.**"),
    keep("configMap.**"),
    keep("downwardAPI.**"),
    keep("secret.**"),
    refuse("podCertificate.**", _NO_TOKEN),
    refuse("serviceAccountToken.**", _NO_TOKEN),
)
VOLUME = (
    keep("name", Shape.TEXT),
    keep("configMap.**"),
    keep("downwardAPI.**"),
    keep("secret.**"),
    keep("image.**"),
    keep("emptyDir.medium", Shape.TEXT),
    keep("emptyDir.sizeLimit", Shape.AMOUNT),
    hide("emptyDir.mode"),
    translate(
        "hostPath.path",
        Shape.TEXT,
        "/dev/shm becomes memory, /dev/infiniband the RDMA resource, a path of the site its volume",
    ),
    hide("hostPath.type"),
    keep("projected.defaultMode", Shape.NUMBER),
    put("projected.defaultUser", _JOB_USER),
    *under("projected.sources[]", PROJECTED_SOURCES),
    translate("persistentVolumeClaim.claimName", Shape.TEXT, "a claim that the site has named"),
    keep("persistentVolumeClaim.readOnly", Shape.SWITCH),
    *(refuse(f"{kind}.**", _ASK_SITE) for kind in _FOREIGN_VOLUMES),
)

POD_SECURITY = (
    put("appArmorProfile.**", "left out: the node's default holds"),
    put("fsGroup", _JOB_USER),
    put("fsGroupChangePolicy", _JOB_USER),
    put("runAsGroup", _JOB_USER),
    put("runAsNonRoot", "replaced by true: pods run as the user of the Slurm job", True),
    put("runAsUser", _JOB_USER),
    put("seLinuxChangePolicy", "left out: the node's default holds"),
    put("seLinuxOptions.**", "left out: the node's default holds"),
    put("seccompProfile.**", "replaced by RuntimeDefault", {"type": "RuntimeDefault"}),
    put("supplementalGroups", _JOB_USER),
    put("supplementalGroupsPolicy", _JOB_USER),
    refuse("sysctls", "remove them: the site sets the node's kernel parameters", []),
    refuse("windowsOptions.**", "remove it: the nodes run Linux"),
)

PLACEMENT = tuple(
    put(name, _SLURM_PLACES)
    for name in ("affinity.**", "nodeName", "nodeSelector.**", "tolerations", "topologySpreadConstraints")
)
POD = (
    *PLACEMENT,
    put("activeDeadlineSeconds", "left out: Slurm's time limit decides, use --time"),
    put("automountServiceAccountToken", "replaced by false: the pods have no identity in Kubernetes", False),
    *under("containers[]", (*CONTAINER, _MAIN_RESTART)),
    *under("initContainers[]", (*CONTAINER, _INIT_RESTART)),
    keep("dnsConfig.**"),
    keep("dnsPolicy", Shape.TEXT),
    put("enableServiceLinks", "replaced by false: other jobs' services are none of this job's business", False),
    refuse("ephemeralContainers", "remove them: only `kubectl debug` adds such", []),
    put("evictionResponders", "left out: only Slurm ends the job"),
    keep("hostAliases[].**"),
    put("hostIPC", "left out: the processes of a rank share the pod's own /dev/shm", False),
    put_by_rule("hostNetwork", Shape.SWITCH, "the network of the site's profile"),
    refuse("hostPID", _NO_HOST, False),
    put("hostUsers", "left out: files of the job need the user's own ids", True),
    put("hostname", "left out: each rank has the name of its pod"),
    put("hostnameOverride", "left out: each rank has the name of its pod"),
    put("setHostnameAsFQDN", "left out: each rank has the name of its pod", False),
    put("subdomain", "left out: the operator makes a service for each rank"),
    keep("imagePullSecrets[].name", Shape.TEXT),
    put("os.**", "left out: the nodes run Linux", {"name": "linux"}),
    put("overhead.**", "left out: the runtime class decides"),
    put("preemptionPolicy", _SITE),
    put("priority", _SITE),
    put_by_rule("priorityClassName", Shape.TEXT, _SITE),
    put("readinessGates", "left out: nothing would ever set them"),
    refuse("resourceClaims", _FULLY_GIVEN, []),
    refuse("resources.**", _FULLY_GIVEN),
    put("restartPolicy", "replaced by Never: a failed run ends its Slurm job, use --requeue", "Never"),
    put_by_rule("runtimeClassName", Shape.TEXT, _SITE),
    put_by_rule("schedulerName", Shape.TEXT, _SITE),
    put("schedulingGates", "replaced by the gate that the node of each rank opens"),
    put("schedulingGroup.**", "left out: Slurm has scheduled the job already"),
    *under("securityContext", POD_SECURITY),
    put_by_rule("serviceAccount", Shape.TEXT, _SITE),
    put_by_rule("serviceAccountName", Shape.TEXT, _SITE),
    keep("shareProcessNamespace", Shape.SWITCH),
    put_by_rule("terminationGracePeriodSeconds", Shape.NUMBER, "at most what the site allows"),
    *under("volumes[]", VOLUME),
)

POD_TEMPLATE: tuple[Row, ...] = (*under("metadata", TEMPLATE_METADATA), *under("spec", POD))
"""A pod template as it stands in a PyTorchJob."""
