package options

// Usage is what apiserver -h prints.
const Usage = `apiserver serves the same objects in two versions of the API: that of June 2014, with
tasks, replication controllers and services, and below /api/v1 today's, for kubectl.

usage: apiserver [flags]

A - in the name of a flag is as good as a _. The values of a LIST are separated by
commas. A TIME is like 90s or 1m30s.

what runs:
  -run LIST            apiserver, scheduler, controller_manager, kubelet, proxy, or all:
                       the server, and the parts around it (default apiserver)
  -master URL          where the apiserver is if it is not in this process
  -kubeconfig FILE     where it is, and who asks it; -master counts more

the server:
  -api_prefix PATH     where June 2014's API is served (default /api/v1beta1); if
                       paths of today's API begin so, that is off
  -machines LIST       the machines that tasks and pods are placed on; may be repeated
                       (default 127.0.0.1)
  -scheduler NAME      what places them: first_fit, random or round_robin
                       (default first_fit); or none: pods wait for a scheduler,
                       which posts bindings, and first_fit places tasks (default
                       if -run names a scheduler)
  -runtime_config LIST the versions of the API to serve, such as
                       api/v1beta1=true,api/v1=false (default: both); may be repeated;
                       without apiextensions.k8s.io/v1 there are no own resources,
                       without apiregistration.k8s.io/v1 no other servers; with
                       metrics.k8s.io/v1beta1=true kubectl top needs no metrics-server
  -request_timeout TIME  how long a request to today's API may take (default 1m0s)
  -min_request_timeout TIME  how long a watch lasts at least, unless its client says
                       how long (default 30m0s)
  -max_requests_inflight N  how many requests that only read are served at once; the
                       next one is a 429; 0 for any number; watches and checks of
                       health do not count (default 400)
  -max_mutating_requests_inflight N  the same for requests that change something
                       (default 200)
  -enable_priority_and_fairness  instead of both limits, priority levels share as many
                       requests, which wait for each other, as FlowSchemas and
                       PriorityLevelConfigurations say (default true with
                       -secure_port, unless both limits are 0)
  -cors_allowed_origins LIST  regular expressions: pages of these origins may read what
                       the server answers
  -shutdown_delay_duration TIME  how long /readyz fails before the ports are closed
                       (default 0s)
  -profiling           serve profiles at /debug/pprof/
  -contention_profiling  record where goroutines wait for each other, with -profiling
  -trace               print a trace of each request, layer by layer, to standard
                       error; requests are then served one at a time
  -version             print the version and exit

the insecure port, without authentication:
  -port N              the port to listen on; 0 takes a free one (default 8080)
  -insecure_port N     another word for -port
  -address ADDRESS     the address to listen on (default 127.0.0.1)
  -insecure_bind_address ADDRESS  another word for -address
  -insecure            -insecure=false closes the port (default true)

the secure port:
  -secure_port N       the port to listen on with TLS 1.2 or newer; 0 takes a free one
                       (default: closed); what follows needs it
  -bind_address ADDRESS  the address to listen on (default 0.0.0.0)
  -tls_cert_file FILE  the server's certificate, and those of its issuers
  -tls_private_key_file FILE  its key; both files are read again when they change
  -cert_dir DIR        where a self-signed certificate is made, and used again, if none
                       is given (default /var/run/kubernetes)

who sends a request:
  -client_ca_file FILE  who signs the certificates of clients
  -token_auth_file FILE  users by their tokens: lines like token,user,uid,"group1,group2"
  -authentication_token_webhook_config_file FILE  a kubeconfig of the server that knows
                       tokens, by a TokenReview
  -authentication_token_webhook_cache_ttl TIME  how long its answers are kept
                       (default 2m0s)
  -requestheader_client_ca_file FILE  who signs the certificate of a front proxy, which
                       tells who sends a request
  -requestheader_allowed_names LIST  the common names that it may have (default: any)
  -requestheader_username_headers LIST  where the proxy names the user
                       (default: X-Remote-User)
  -requestheader_uid_headers LIST  where it names the user's UID, such as X-Remote-Uid
  -requestheader_group_headers LIST  where it names the groups
                       (default: X-Remote-Group)
  -requestheader_extra_headers_prefix LIST  what headers with further data of the user
                       begin with, such as X-Remote-Extra-
  -service_account_key_file FILE  whose keys sign the tokens of service accounts; may
                       be repeated (default: the signing key)
  -service_account_signing_key_file FILE  the private key of the tokens that service
                       accounts get; it needs -service_account_issuer
  -service_account_issuer NAME  who issues them, such as https://kubernetes.default.svc
  -service_account_jwks_uri URL  where others read their public keys, if that is not
                       the secure port
  -service_account_lookup  a token is valid only while its account, and what it is bound
                       to, are there (default true)
  -enable_bootstrap_token_auth  let new machines in by tokens like
                       abcdef.0123456789abcdef, which are secrets of kube-system of the
                       type bootstrap.kubernetes.io/token
  -oidc_issuer_url URL  let users in by the ID tokens of this OpenID Connect issuer; what
                       follows needs it
  -oidc_client_id NAME  for whom the tokens must be
  -oidc_ca_file FILE   who signs the issuer's certificate (default: whom the system
                       trusts)
  -oidc_username_claim NAME  the claim that names the user (default sub)
  -oidc_username_prefix TEXT  what names of users get before them; - for nothing (default:
                       the issuer and a #, but nothing before an email)
  -oidc_groups_claim NAME  the claim that names the groups (default: there are none)
  -oidc_groups_prefix TEXT  what names of groups get before them
  -oidc_required_claim PAIR  a claim that tokens must have, such as tenant=blue; may be
                       repeated
  -oidc_signing_algs LIST  the algorithms that may sign them (default RS256)
  -anonymous_auth      let requests without credentials through, as system:anonymous
                       (default true, but not with AlwaysAllow)

who may do what:
  -authorization_mode LIST  AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node: the first
                       that has an opinion decides (default: AlwaysAllow)
  -authorization_policy_file FILE  the policy of ABAC, a JSON object a line
  -authorization_webhook_config_file FILE  a kubeconfig of the server that decides for
                       Webhook, by a SubjectAccessReview

what is let in:
  -enable_admission_plugins LIST  plugins that decide about changes of today's API,
                       beside the defaults: NamespaceLifecycle, LimitRanger,
                       ServiceAccount (if serviceaccount-controller runs),
                       TaintNodesByCondition, Priority, DefaultTolerationSeconds,
                       DefaultStorageClass, StorageObjectInUseProtection,
                       PersistentVolumeClaimResize, RuntimeClass, CertificateApproval,
                       CertificateSigning, CertificateSubjectRestriction,
                       DefaultIngressClass, MutatingAdmissionPolicy,
                       MutatingAdmissionWebhook, ValidatingAdmissionPolicy,
                       ValidatingAdmissionWebhook, ResourceQuota; others are AlwaysAdmit,
                       AlwaysDeny, AlwaysPullImages, NamespaceExists, NodeRestriction
  -disable_admission_plugins LIST  defaults that are off; about tasks decide only
                       ResourceQuota and NodeRestriction, if they are on
  -admission_control LIST  instead of both: the plugins that decide about all changes,
                       also of tasks, in their order
  -admission_control_config_file FILE  an AdmissionConfiguration: webhooks of the
                       plugins, beside those of objects

who did what:
  -audit_log_path FILE  where a line of JSON is written for each stage of each request;
                       - is standard output (default: off); what follows needs it
  -audit_policy_file FILE  a Policy of audit.k8s.io/v1: what is written of which request
                       (default: the metadata of all)
  -audit_log_maxage DAYS  how long a full file is kept; 0 for any time (default 0)
  -audit_log_maxbackup N  how many full files are kept; 0 for all (default 0)
  -audit_log_maxsize MEGABYTES  when a file is full (default 0, which is 100)

where objects are kept:
  -etcd_servers LIST   the members of the etcd to keep objects in, as URLs like
                       http://127.0.0.1:4001 (default: keep them in memory)
  -storage_backend NAME  which API of etcd: etcd2, as in June 2014, or etcd3 (default:
                       the one that etcd serves and that holds objects)
  -etcd_prefix PATH    what the keys of etcd3 begin with (default /registry)
  -etcd_cafile FILE    who signs the certificates of an etcd at https:// URLs
                       (default: whom the system trusts)
  -etcd_certfile FILE  the server's certificate for etcd
  -etcd_keyfile FILE   its key
  -etcd_username NAME  the server's user in etcd, who may read and write all keys below
                       the prefix
  -etcd_password_file FILE  the file that holds the user's password
  -event_ttl TIME      how long an event is kept after its last change; 0s is for ever
                       (default 1h0m0s)

how kubelets are reached:
  -kubelet_port N      where they listen (default 10250)
  -kubelet_https       reach them with TLS
  -kubelet_certificate_authority FILE  who signs their certificates (default: they are
                       not checked)
  -kubelet_client_certificate FILE  the server's certificate for them
  -kubelet_client_key FILE  its key
  -kubelet_timeout TIME  how long they may take to answer (default 1s)

how other servers are reached:
  -proxy_client_cert_file FILE  the server's certificate for servers of APIServices, by
                       which they believe it who sends a request
  -proxy_client_key_file FILE  its key; both files are read again when they change
  -enable_aggregator_routing  send requests to the endpoints of a service, not to its
                       cluster IP

the controllers:
  -controllers LIST    those that run: * for all, NAME, -NAME for all but that one; none
                       if it is empty (default *; with -trace, only those of the
                       controller manager); of each server
                       clusterrole-aggregation-controller (with RBAC),
                       endpointslice-mirroring-controller,
                       garbage-collector-controller, namespace-controller,
                       persistentvolume-protection-controller,
                       persistentvolumeclaim-protection-controller,
                       resourcequota-controller,
                       root-ca-certificate-publisher-controller,
                       serviceaccount-controller, serviceaccount-token-controller
                       (with a signing key),
                       validatingadmissionpolicy-status-controller,
                       volumeattributesclass-protection-controller; of the controller
                       manager cronjob-controller, deployment-controller,
                       endpoints-controller, endpointslice-controller, job-controller,
                       node-lifecycle-controller, replicaset-controller,
                       replicationcontroller-controller
  -enable_garbage_collector  let deleted objects wait for the garbage collector, here or
                       in today's controller manager, if their dependents need it
                       (default true; false with -trace)
  -root_ca_file FILE   the certificate by which pods know the server, which is published
                       in each namespace (default: the last one that the secure port
                       shows)

the services of the second door:
  -service_cluster_ip_range BLOCK  the addresses of services, like 10.0.0.0/16; not on
                       etcd2 (default: services have neither addresses nor node ports)
  -service_node_port_range RANGE  the node ports of services (default 30000-32767)
  -advertise_address ADDRESS  where pods reach the secure port: the endpoint of the
                       service kubernetes (default: -bind_address, or the first
                       address of this machine)

the kubelets and the controller manager:
  -node_status_update_frequency TIME  how often a kubelet says that it is alive
                       (default 10s)
  -node_monitor_period TIME  how often the controller manager looks whether kubelets
                       are alive (default 5s)
  -node_monitor_grace_period TIME  how long a kubelet may be silent until its node is
                       not ready (default 40s)
  -leader_elect        let only that controller manager act which holds a lease
                       (default true; false with -trace)
  -leader_elect_lease_duration TIME  how long the others wait after the lease was last
                       renewed, rounded down to seconds (default 15s)
  -leader_elect_renew_deadline TIME  how long its holder acts after that (default 10s)
  -leader_elect_retry_period TIME  how often each one tries (default 2s)
  -cluster_cidr BLOCK  the addresses of pods, of which each machine has a /24
                       (default 127.1.0.0/16)

example:
  apiserver -machines 127.0.0.1,127.0.0.2 -etcd_servers http://127.0.0.1:4001
  curl http://127.0.0.1:8080/api/v1beta1/tasks
  kubectl -s http://127.0.0.1:8080 get pods

Whoever reaches the insecure port may do everything: keep its address on loopback.
The exit code is 2 when a flag is wrong, 1 when the server cannot serve.
`
