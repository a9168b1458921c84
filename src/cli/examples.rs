//! The texts that `--help` of a command shows after its options: examples and notes.

pub(super) const APPLY: &str = "\
Examples:
  evenkeel plan --policy policy.yaml -o json > plan.json
  evenkeel apply plan.json --policy policy.yaml

It is a single run that evicts only pods of the plan. Each eviction is decided again: a pod that no \
longer has to move stays, and so does one that a gate refuses by now, or whose replacement would \
land elsewhere. The log names each of them with the reason. A plan is valid for `approval.expires` \
of the policy, and only unchanged. Applied twice, it evicts once, because a replacement is another \
pod. It fails if no eviction is possible.";

pub(super) const APPROVE: &str = "\
Examples:
  evenkeel approve                  show the evictions that wait for an approval, and their id
  evenkeel approve 3f9a0c27d1be     approve them; the next cycle makes them
  kubectl annotate -n kube-system configmap evenkeel-proposal \\
      evenkeel.io/approved=3f9a0c27d1be

An approval is an annotation of the ConfigMap. You need the rights to get and to patch it, and no \
other. It covers exactly the evictions that are shown. The next cycle checks each of them again, and \
says in its log which ones are not made, and why.";

pub(super) const DOCTOR: &str = "\
Examples:
  evenkeel doctor --policy policy.yaml
  evenkeel doctor --service-account kube-system/evenkeel     the rights of that account, \
    not of yours
  evenkeel doctor --from cluster.json
  kubectl -n kube-system exec deployment/evenkeel -- \\
      evenkeel doctor --policy /etc/evenkeel/policy.yaml

Exit status: 0 without a failure, 1 with one, 2 wrong usage or invalid policy.";

pub(super) const EXPLAIN: &str = "\
Examples:
  evenkeel explain pod shop/web-5d9c7b-x2x4z     why it moves or stays, and where it would land
  evenkeel explain node n1 --look 5m             its usage over 5 minutes, and its pods
  evenkeel explain workload shop/web             its pods, budgets and earlier evictions
  evenkeel explain pod web-0 --from cluster.json

A pod is NAMESPACE/NAME, or NAME if only one namespace has it. A workload is the top controller of \
pods, such as a Deployment: NAMESPACE/NAME, KIND/NAME, NAMESPACE/KIND/NAME or NAME. --from takes the \
same file as for plan; earlier evictions count if the file has the ledger's ConfigMap. explain needs \
the same permissions as plan.";

pub(super) const HISTORY: &str = "\
Examples:
  evenkeel history record.jsonl                        what was evicted and refused, and the weeks
  kubectl -n kube-system logs deploy/evenkeel | grep specversion | evenkeel history
                                                       the same from standard output of a pod
  evenkeel history -o json old.jsonl record.jsonl      two files as one, for other programs

`evenkeel run --record` writes the record.";

pub(super) const PAUSE: &str = "\
Examples:
  evenkeel pause --reason 'incident 4711' --for 2h    no evictions in the cluster for two hours
  evenkeel pause --reason 'load test' -n shop         none in one namespace, until resumed
  kubectl annotate namespace shop evenkeel.io/pause='load test'      the same without evenkeel
  kubectl annotate namespace kube-system evenkeel.io/pause-all=test  the whole cluster

A pause is an annotation of the namespace, and for the whole cluster of kube-system. You need the \
right to patch that namespace. It counts at once, also for a plan that is being carried out.";

pub(super) const SIMULATE: &str = "\
Examples:
  evenkeel simulate                                 three full nodes, and seven that join later
  evenkeel simulate --list                          list the built-in scenarios
  evenkeel simulate daily-wave --policy mine.yaml   a built-in scenario under your policy
  evenkeel simulate --from cluster.json             your own cluster, with the usage in the file;
                                                    see snapshot --history
  evenkeel simulate --policy a.yaml --policy b.yaml compare two policies
  evenkeel simulate --html report.html              write the run as a report with charts
  evenkeel simulate --show late-nodes > mine.yaml   print a scenario, to change it
  evenkeel simulate mine.yaml                       run the changed scenario";

pub(super) const SNAPSHOT: &str = "\
The file has only the fields that a plan needs: no environment variables, arguments or commands of \
containers, no Secrets, no ConfigMaps, and only the annotations that control evictions. Names are \
kept unless --scramble replaces them.

Examples:
  evenkeel snapshot -o cluster.json
  evenkeel plan --from cluster.json
  evenkeel snapshot --history 24h --policy policy.yaml -o cluster.json
  evenkeel simulate --from cluster.json --policy policy.yaml
  evenkeel snapshot --scramble | gzip > for-a-bug-report.json.gz";

pub(super) const STATUS: &str = "\
Examples:
  evenkeel status                                 what the running instance does, and why
  evenkeel status --pod evenkeel-5d9c7b-x2x4z     a pod that does not lead
  evenkeel status --url http://localhost:8081     an instance on this machine, or a forwarded port
  evenkeel status -o json                         everything that the status page knows

The page listens on the pod's loopback address, so its port is forwarded by `kubectl port-forward`, \
which must be installed. You need the right to forward ports to the pod.";
