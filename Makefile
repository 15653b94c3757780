# What the targets do: make help

GO           ?= go
# As today's programs are built. So the tests and the programs that they run are compiled once.
export CGO_ENABLED := 0
PORT         ?= 8080
SECURE_PORT  ?= 6443
EXTENSION_PORT ?= 6444
MACHINES     ?= 127.0.0.1,127.0.0.2
SCHEDULER    ?=
RUN          ?= scheduler,controller_manager,kubelet,proxy
MASTER       ?= http://127.0.0.1:$(PORT)
ETCD_SERVERS ?=
STORAGE_BACKEND ?=
TRACE        ?=
CLIENT_PORT  ?= 4001
PEER_PORT    ?= 7001
CHAOS        ?= 5m
SOAK         ?= 1m
ORIGINAL     ?=
ONLY         ?=
FUZZ         ?= 300000
HISTORIES    ?= 100
CLIENTS      ?= 5000
MANAGERS     ?= 10000
SEED         ?= 1
WATCHERS     ?= 1000
PLATFORMS    ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# The name of an archive for setup-envtest: the version of the API, with a patch version that today's server will not have.
ARCHIVE      := envtest-v1.36.2014
VERSION      := $(shell git describe --always --dirty 2>/dev/null || echo devel)
TOOL         := $(GO) tool -modfile=tools/go.mod
# Without the race detector, it needs only little more than what was compiled for kubectl.
TEST_CLIENTS := $(GO) -C clients test -count=1
# The race detector needs cgo and a C compiler; without one, the tests run without it.
RACE         := $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),CGO_ENABLED=1 $(GO) test -race,$(GO) test)
# The packages in which most goroutines meet. make test runs only these with the race detector, which compiles all that
# they need once more; make long runs all with it.
RACED        := /pkg/(aggregator|audit|client|controller|kubelet|proxy|scheduler|util|webhook)(/|$$)|/pkg/(admission|auth/authenticator/webhook|rest|rest/core|rest/generic|server|storage|storage/memory)$$
SHORT        := -short -vet=off -p 2 -timeout 20m
COMMON_FLAGS  = -machines $(MACHINES) $(if $(ETCD_SERVERS),-etcd_servers $(ETCD_SERVERS)) \
	$(if $(STORAGE_BACKEND),-storage_backend $(STORAGE_BACKEND)) $(if $(SCHEDULER),-scheduler $(SCHEDULER)) $(if $(TRACE),-trace)
# The files are those that bin/secure makes.
SECURE_FLAGS = -insecure=false -secure_port $(SECURE_PORT) -bind_address 127.0.0.1 \
	-tls_cert_file data/secure/apiserver.crt -tls_private_key_file data/secure/apiserver.key \
	-client_ca_file data/secure/ca.crt -token_auth_file data/secure/tokens.csv -authorization_mode Node,RBAC \
	-service_account_signing_key_file data/secure/apiserver.key -service_account_issuer https://kubernetes.default.svc \
	-enable_bootstrap_token_auth -enable_admission_plugins AlwaysPullImages,NodeRestriction \
	-audit_log_path data/secure/audit.log -audit_policy_file data/secure/audit-policy.yaml \
	-proxy_client_cert_file data/secure/aggregator.crt -proxy_client_key_file data/secure/aggregator.key $(FRONT_PROXY)
# Whom a server takes for a proxy that names users: the aggregator.
FRONT_PROXY := -requestheader_client_ca_file data/secure/front-proxy-ca.crt -requestheader_allowed_names aggregator \
	-requestheader_extra_headers_prefix X-Remote-Extra-
EXTENSION_FLAGS = -insecure=false -secure_port $(EXTENSION_PORT) -bind_address 127.0.0.1 -scheduler none \
	-tls_cert_file data/secure/extension.crt -tls_private_key_file data/secure/extension.key \
	-client_ca_file data/secure/ca.crt $(FRONT_PROXY) \
	-authorization_mode Webhook -authorization_webhook_config_file data/secure/reviews.kubeconfig

.PHONY: help envtest release archives envtest-suites run june2014 cluster part secure extension kubeconfig controller-manager etcd build fetch test long proof etcd-3.6 fuzz histories clients parts conformance browser screenshots watches soak chaos bench compare compare-original decisions managers crds aggregation check cover clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9.\/ -]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## run the apiserver; PORT=8080 MACHINES=127.0.0.1,127.0.0.2 SCHEDULER= ETCD_SERVERS= STORAGE_BACKEND= TRACE=
	@exec bin/apiserver -port $(PORT) $(COMMON_FLAGS)

june2014: build ## run it as in June 2014: without today's API; variables as above
	@exec bin/apiserver -runtime_config api/v1=false -port $(PORT) $(COMMON_FLAGS)

cluster: MACHINES = 127.0.0.1,127.0.0.2,127.0.0.3
cluster: build ## run it with a scheduler, controllers, kubelets and a proxy around it, on three machines; variables as above
	@exec bin/apiserver -run all -port $(PORT) -runtime_config metrics.k8s.io/v1beta1=true $(COMMON_FLAGS)

part: build ## run parts around a server in another process; RUN=scheduler,controller_manager,kubelet,proxy MASTER=http://127.0.0.1:8080
	@exec bin/apiserver -run $(RUN) -master $(MASTER) $(if $(findstring kubelet,$(RUN))$(findstring proxy,$(RUN)),-machines $(MACHINES)) \
		$(if $(TRACE),-trace)

secure: build ## run it with TLS, users and rights, made in data/secure; SECURE_PORT=6443, and the variables of run but PORT
	@bin/secure -port $(SECURE_PORT)
	@exec bin/apiserver $(SECURE_FLAGS) $(COMMON_FLAGS)

extension: build ## run a second server, behind that of make secure: docs/servers.md; EXTENSION_PORT=6444
	@exec bin/apiserver $(EXTENSION_FLAGS)

kubeconfig: ## write data/kubeconfig for PORT=8080; eval "$(make kubeconfig)" lets kubectl use it
	@mkdir -p data
	@printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: kube2014' \
		'clusters: [{name: kube2014, cluster: {server: "http://127.0.0.1:$(PORT)"}}]' \
		'contexts: [{name: kube2014, context: {cluster: kube2014}}]' > data/kubeconfig
	@printf '%s\n' "export KUBECONFIG=\"$$PWD/data/kubeconfig\"" '# or: kubectl --kubeconfig data/kubeconfig'

controller-manager: bin/kube-controller-manager kubeconfig ## run those of today's controllers that make cluster has not, at PORT=8080
	@exec bin/kube-controller-manager --kubeconfig data/kubeconfig --leader-elect=false --secure-port 0 \
		--controllers statefulset-controller,daemonset-controller,disruption-controller,horizontal-pod-autoscaler-controller

etcd: bin/etcd ## run a real etcd with both its APIs on port 4001, its data in data/
	@echo 'etcd is to serve http://127.0.0.1:$(CLIENT_PORT), and its peers port $(PEER_PORT); its data is in data/etcd'
	@exec bin/etcd --name kube2014 --data-dir data/etcd --enable-v2=true --log-level error \
		--listen-client-urls http://127.0.0.1:$(CLIENT_PORT) --advertise-client-urls http://127.0.0.1:$(CLIENT_PORT) \
		--listen-peer-urls http://127.0.0.1:$(PEER_PORT) --initial-advertise-peer-urls http://127.0.0.1:$(PEER_PORT) \
		--initial-cluster kube2014=http://127.0.0.1:$(PEER_PORT)

bin/etcd: tools/go.mod
	$(GO) build -modfile=tools/go.mod -o $@ go.etcd.io/etcd/server/v3

# For tests: 3.4 is the oldest etcd that is used, 3.6 has no v2 API.
bin/etcd-3.4: tools/etcd3.4/go.mod
	$(GO) build -modfile=$< -o $@ go.etcd.io/etcd

bin/etcd-3.6: tools/etcd3.6/go.mod
	$(GO) build -modfile=$< -o $@ go.etcd.io/etcd/server/v3

# For tests: it asks our kubelets what their pods use.
bin/metrics-server: tools/metrics-server/go.mod
	$(GO) build -modfile=$< -o $@ sigs.k8s.io/metrics-server/cmd/metrics-server

# For tests: it serves a group of its own.
bin/sample-apiserver: tools/sample-apiserver/go.mod
	$(GO) build -modfile=$< -o $@ k8s.io/sample-apiserver

# Each staging module of Kubernetes is replaced by the one that is published of it. The first
# build takes some minutes.
bin/kubectl bin/kube-apiserver bin/kube-controller-manager bin/kube-scheduler: tools/kubernetes/go.mod ## build today's programs; the first time takes minutes
	$(GO) build -C tools/kubernetes -o ../../$@ \
		-ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' k8s.io/kubernetes/cmd/$(@F)

# The test suite of Kubernetes, 140 MB.
bin/e2e.test: tools/kubernetes/go.mod
	$(GO) test -C tools/kubernetes -c -o ../../$@ \
		-ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' k8s.io/kubernetes/test/e2e

# Without the pages of gRPC's traces, which nobody serves: with their templates, the linker would keep all methods of all types.
build: ## build bin/apiserver, and bin/secure for make secure
	$(GO) build -tags grpcnotrace -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/apiserver ./secure

# A suite can begin before kubectl is there, which is last. The server is a copy, as from an archive: of a file that the linker
# has written, Linux maps 8 MB more.
envtest: build ## fill bin/envtest, a folder for KUBEBUILDER_ASSETS: docs/envtest.md
	@mkdir -p bin/envtest
	install bin/apiserver bin/envtest/kube-apiserver
	$(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/envtest/ ./cmd/etcd
	@$(MAKE) --no-print-directory bin/kubectl
	ln -f bin/kubectl bin/envtest/kubectl

# What cannot be run here is vetted at least.
release: ## make archives of the programs of envtest for each of PLATFORMS, and their checksums, in bin/release
	GOOS=darwin $(GO) vet ./...
	$(GO) build -modfile=tools/go.mod -o bin/ honnef.co/go/tools/cmd/staticcheck
	for os in darwin windows; do GOOS=$$os bin/staticcheck -tests=false ./cmd/... || exit 1; done
	@$(MAKE) --no-print-directory archives
	cd bin/release && sha512sum *.tar.gz > SHA512SUMS

# setup-envtest takes files only, no links, and needs no kubectl.
archives:
	@rm -rf bin/release && mkdir -p bin/release
	@set -e; for platform in $(PLATFORMS); do \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		folder=bin/release/$$GOOS-$$GOARCH; programs=$$folder/controller-tools/envtest; exe=; test $$GOOS != windows || exe=.exe; \
		$(GO) build -trimpath -tags grpcnotrace -ldflags '-s -w -X main.version=$(VERSION)' -o $$programs/kube-apiserver$$exe ./cmd/apiserver; \
		$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $$programs/etcd$$exe ./cmd/etcd; \
		archive=$(ARCHIVE)-$$GOOS-$$GOARCH.tar.gz; \
		tar -C $$folder --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c controller-tools | gzip -n > bin/release/$$archive; \
		rm -r $$folder; echo $$archive; \
	done

fetch: bin/etcd ## fetch and build what check and test need; they need no network then
	$(GO) mod download
	$(GO) -C clients mod download
	$(GO) -C browser mod download
	$(GO) -C kubebuilder mod download
	$(TOOL) staticcheck -version

# The programs that tests build get the tag, too, and are compiled of the same packages. Nobody debugs what tests run:
# without debug information, the compiler needs a fifth less time. With the race detector, no test counts
# allocations: without inlining, it needs another quarter less. What go env has set stays.
GOFLAGS := $(shell $(GO) env GOFLAGS)
check test: export GOFLAGS += -tags=grpcnotrace
check fetch test: export GOFLAGS += -gcflags=all=-dwarf=false

# Some tests build programs. The packages are compiled before, or those tests and go test would compile them twice.
# Nothing in it can fail by chance: fuzz targets run over their corpora only, and the
# timeout is for a test that hangs.
test: bin/etcd ## run the tests but the long ones, some with the race detector; takes some minutes
	@test '$(RACE)' != '$(GO) test' || echo 'no C compiler: the tests run without the race detector'
	$(GO) build ./...
	$(GO) test $(SHORT) $$($(GO) list ./... | grep -Ev '$(RACED)')
	GORACE=atexit_sleep_ms=50 $(RACE:-race=-race -gcflags='all=-dwarf=false -l') $(SHORT) $$($(GO) list ./... | grep -E '$(RACED)')

# The tag is of tests that compare with parts of today's server, which take long to compile.
long: bin/etcd bin/etcd-3.4 bin/kubectl ## run all tests, also those with kubectl, client-go and etcd 3.4, with the race detector; takes a quarter of an hour
	$(GO) -C clients vet .
	$(RACE) -tags today -p 1 -count=1 -timeout 30m ./...
	$(TEST_CLIENTS) -timeout 30m .

proof: bin/kubectl ## long, decisions, managers, crds, aggregation, etcd-3.6, fuzz, histories, clients, parts, conformance, envtest-suites, browser, watches, chaos and soak, one after the other: an hour
	@$(MAKE) --no-print-directory long
	@$(MAKE) --no-print-directory decisions
	@$(MAKE) --no-print-directory managers
	@$(MAKE) --no-print-directory crds
	@$(MAKE) --no-print-directory aggregation
	@$(MAKE) --no-print-directory etcd-3.6
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory histories
	@$(MAKE) --no-print-directory clients
	@$(MAKE) --no-print-directory parts
	@$(MAKE) --no-print-directory conformance
	@$(MAKE) --no-print-directory envtest-suites
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory watches
	@$(MAKE) --no-print-directory chaos
	@$(MAKE) --no-print-directory soak

etcd-3.6: bin/etcd bin/etcd-3.4 bin/etcd-3.6 bin/kubectl ## run the tests of etcd and of the program on 3.6 as well
	KUBE2014_ETCD36=1 $(RACE) -p 1 -count=1 -timeout 30m ./pkg/etcd/... ./cmd/apiserver

# Fuzzing is counted, not timed: a target that runs out of time in the middle of
# an input fails with "context deadline exceeded", though nothing was found.
# Those of the second door take ten times as long, and get a tenth of the inputs.
fuzz: ## fuzz each target with FUZZ=300000 inputs, those of the second door with a tenth
	@mkdir -p bin
	@grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9]*' cmd pkg | sed 's|\(.*\)/[^/]*:func \(.*\)|\1 \2|' | \
	while read -r dir target; do \
		echo "$$dir $$target"; \
		inputs=$(FUZZ); case $$dir/$$target in pkg/api/v1/*|pkg/endpoints/*|pkg/rest/*|*BothDoors*) inputs=$$(( inputs / 10 ));; esac; \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $${inputs}x ./$$dir > bin/fuzz.log 2>&1 || { \
			cat bin/fuzz.log; \
			sed -n 's/.*Failing input written to //p' bin/fuzz.log | while read -r input; do cat "$$dir/$$input"; done; \
			exit 1; \
		}; \
	done

histories: bin/etcd ## check HISTORIES=100 histories through both doors, and of definitions, on memory and on each API of etcd, and of a replication controller
	KUBE2014_HISTORIES=$(HISTORIES) $(RACE) -count=1 -timeout 2h -run 'TestTheRequestsThroughBothDoorsAreLinearizable|TestHistoriesOfDefinitionsLoseNothing' ./cmd/apiserver
	KUBE2014_HISTORIES=$(HISTORIES) $(RACE) -count=1 -timeout 2h -run TestThereAreNeverTooManyPods ./pkg/controller/replication

clients: bin/etcd bin/kubectl bin/kube-controller-manager ## run client-go, for CLIENTS=5000 changes, controller-runtime and today's controller manager
	KUBE2014_CLIENTS=$(CLIENTS) $(TEST_CLIENTS) -timeout 2h .

parts: bin/etcd bin/kubectl bin/kube-apiserver bin/kube-controller-manager bin/kube-scheduler ## run our controllers, scheduler and kubelets around today's kube-apiserver, and kubectl with today's controllers around ours
	KUBE2014_CONTROLLERS=1 $(RACE) -count=1 -timeout 30m -run 'TestKubectlPrintsTheSameWithTodaysControllers|TestAUsersStory|TestWhatEverybodyTriesFirstAroundTodaysServer|TestAMachineJoins' ./cmd/apiserver
	KUBE2014_CLIENTS_ON=kube-apiserver KUBE2014_CLIENTS=1 $(TEST_CLIENTS) -timeout 30m \
		-run 'TestOurPartsRunPods|TestTodaysControllersManageWhatOurKubeletsRun' .

conformance: bin/e2e.test bin/kubectl bin/kube-controller-manager bin/kube-scheduler ## run Kubernetes' own conformance tests that need no real containers, with today's controllers and scheduler, and with ours; ONLY= is a regular expression
	KUBE2014_CONFORMANCE=1 KUBE2014_ONLY='$(ONLY)' $(GO) test -count=1 -v -timeout 3h -parallel 6 -run TestConformanceTestsPass ./cmd/apiserver

envtest-suites: envtest bin/etcd bin/kube-apiserver ## run the suites of controller-runtime and of a kubebuilder project with bin/envtest and with today's programs, and measure both
	@$(MAKE) --no-print-directory archives PLATFORMS=$$($(GO) env GOOS)/$$($(GO) env GOARCH)
	KUBE2014_ENVTEST=1 $(GO) test -count=1 -v -timeout 1h ./compare/envtest
	KUBE2014_ENVTEST=1 $(TEST_CLIENTS) -v -timeout 30m -run 'TestEnvtest|TestFiftyEnvironments' .

browser: build bin/etcd ## test the page in a real Chromium, which is Debian's package chromium
	@command -v chromium > /dev/null || { echo 'there is no chromium: apt-get install chromium' >&2; exit 2; }
	$(GO) -C browser vet .
	KUBE2014_SCREENSHOTS=$(SCREENSHOTS) $(GO) -C browser test -count=1 -v -timeout 30m .

screenshots: SCREENSHOTS = $(CURDIR)/docs
screenshots: browser ## test the page, and make the pictures of it in docs/

# One after the other, for they measure times, and without the race detector, with which a
# program takes a second to end.
watches: bin/etcd ## let WATCHERS=1000 watch five times as many changes, on memory and on each API of etcd
	KUBE2014_WATCHERS=$(WATCHERS) $(GO) test -count=1 -parallel 1 -v -timeout 2h -run 'TestManyWatchersAre|TestAWatchTells|TestTwoApiserversTell' ./cmd/apiserver

soak: bin/etcd ## load from 64 clients, and of definitions that come and go, on memory and on each API of etcd, for SOAK=1m each, and with TLS, users, plugins and audit
	KUBE2014_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout 2h -run TestSoak ./cmd/apiserver

chaos: bin/etcd ## kill members of a real etcd under load, and servers and each part of make cluster, for CHAOS=5m with each API of etcd
	KUBE2014_CHAOS=$(CHAOS) $(RACE) -count=1 -v -timeout 2h \
		-run 'TestAClusterThatLosesMembersLosesNothing|TestPartsThatAreKilledLoseNothing|TestWhatEverybodyTriesFirstWhilePartsAreKilled|TestServersThatAreKilledLeaveNoGarbage|TestDefinitionsOfServersThatAreKilledLoseNothing' ./cmd/apiserver

bench: build bin/etcd bin/kubectl ## measure the program and write docs/performance.md; takes some minutes
	$(GO) build -o bin/bench ./bench
	@exec bin/bench

scale: build bin/etcd bin/kube-apiserver ## measure it beside the clients of up to 5,000 nodes with 150,000 pods; takes 1 to 2 hours
	$(GO) build -o bin/scale ./bench/scale
	@exec bin/scale

compare: build bin/etcd bin/kubectl bin/kube-apiserver bin/kube-controller-manager ## measure the program beside today's kube-apiserver and write docs/compare.md; takes about five minutes
	$(GO) build -o bin/compare ./compare/kubernetes
	@exec bin/compare

compare-original: ## replay the recordings against ORIGINAL=http://127.0.0.1:8001 and ours, and tell the differences
	@test -n '$(ORIGINAL)' || { \
		echo 'which server? make compare-original ORIGINAL=http://127.0.0.1:8001 (docs/deviations.md tells more)' >&2; exit 2; }
	@$(MAKE) --no-print-directory build
	$(GO) build -o bin/compare-original ./compare/original
	@exec bin/compare-original -original '$(ORIGINAL)'

decisions: bin/etcd bin/kube-apiserver ## ask today's kube-apiserver anew who gets in and who may do what, and tell what differs from the recordings; takes three minutes
	$(GO) build -o bin/decisions ./compare/decisions
	@exec bin/decisions

managers: bin/etcd bin/kube-apiserver ## let random managers take MANAGERS=10000 steps with SEED=1 on ours and on today's kube-apiserver, and compare who owns what
	KUBE2014_MANAGERS=$(MANAGERS) KUBE2014_MANAGERS_SEED=$(SEED) $(GO) test -count=1 -v -timeout 1h ./compare/managers

# The tests of gateway-api are compiled in its own module, which takes minutes the first time.
crds: bin/etcd bin/kube-apiserver ## use the CustomResourceDefinitions of other projects on ours and on today's kube-apiserver, and measure both
	KUBE2014_CRDS=1 $(GO) test -count=1 -v -timeout 1h ./compare/crds

# One after the other, for one of them measures times.
aggregation: bin/etcd bin/kubectl bin/metrics-server bin/sample-apiserver ## put other servers behind ours, Kubernetes' sample-apiserver, metrics-server and some that hang, and kill them under load
	KUBE2014_AGGREGATION=1 $(GO) test -count=1 -parallel 1 -v -timeout 30m ./compare/aggregation

check: ## gofmt, go vet, go mod tidy and staticcheck
	@unformatted="$$(gofmt -l .)"; test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) -C clients mod tidy -diff
	$(GO) -C browser mod tidy -diff
	$(GO) -C kubebuilder mod tidy -diff
	$(TOOL) staticcheck ./...

cover: bin/etcd ## print the coverage of each package
	$(GO) test -short -cover ./...

clean: ## remove what was built; the data of make etcd stays
	rm -rf bin
