package flowcontrol_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	built "kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/util/fairqueuing"
)

// controlOf returns a control with own objects, and a function that replaces them.
func controlOf(seats int, own *flowcontrol.Objects, counts map[schema.GroupResource]int) (c *flowcontrol.Control, replace func(*flowcontrol.Objects)) {
	var now atomic.Pointer[flowcontrol.Objects]
	now.Store(own)
	c = flowcontrol.New(flowcontrol.Config{Seats: seats, Read: now.Load, Mandatory: built.Mandatory(),
		Counts: func() map[schema.GroupResource]int { return counts }})
	return c, now.Store
}

// schemaFor returns a flow schema for everything that somebody does.
func schemaFor(name, level string, precedence int32, subject flowcontrolv1.Subject) *flowcontrolv1.FlowSchema {
	all := []string{"*"}
	return &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: precedence,
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: []flowcontrolv1.Subject{subject},
			ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}}}}}}
}

func userNamed(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}
}

// levelNamed returns a level that rejects, or queues if there is a queue.
func levelNamed(name string, queues *flowcontrolv1.QueuingConfiguration) *flowcontrolv1.PriorityLevelConfiguration {
	response := flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject, Queuing: queues}
	if queues != nil {
		response.Type = flowcontrolv1.LimitResponseTypeQueue
	}
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(5)), LimitResponse: response}}}
}

func by(name string, groups ...string) *authorizer.Attributes {
	return &authorizer.Attributes{User: &user.Info{Name: name, Groups: groups}, Verb: "get", IsResource: true, Resource: "pods", Namespace: "default", Name: "x"}
}

func TestWithoutObjectsMastersAreExemptAndAllOthersCaught(t *testing.T) {
	t.Parallel()
	c, _ := controlOf(10, &flowcontrol.Objects{}, nil)
	assert.Equal(t, "exempt", c.Classify(by("root", user.Masters)).Schema.Name)
	for _, who := range []*authorizer.Attributes{by("ann", user.AllAuthenticated), by("nobody")} {
		class := c.Classify(who)
		assert.Equal(t, "catch-all", class.Schema.Name)
		assert.Equal(t, "catch-all", class.Level.Name)
	}
}

func TestTheFirstSchemaByPrecedenceAndNameCounts(t *testing.T) {
	t.Parallel()
	c, replace := controlOf(10, &flowcontrol.Objects{}, nil)
	levels := []*flowcontrolv1.PriorityLevelConfiguration{levelNamed("a", nil)}
	replace(&flowcontrol.Objects{Levels: levels, Schemas: []*flowcontrolv1.FlowSchema{
		schemaFor("late", "a", 9, userNamed("*")), schemaFor("z", "a", 5, userNamed("ann")), schemaFor("b", "a", 5, userNamed("ann")),
		schemaFor("dangling", "nowhere", 1, userNamed("*")), schemaFor("exempt", "exempt", 1, userNamed("root"))}})
	assert.Equal(t, "b", c.Classify(by("ann")).Schema.Name)
	assert.Equal(t, "late", c.Classify(by("bea")).Schema.Name)
	assert.Equal(t, "exempt", c.Classify(by("root", user.Masters)).Schema.Name, "its level is not stored: the mandatory schema counts")
	assert.Equal(t, "late", c.Classify(by("root")).Schema.Name)
}

func TestALevelThatIsNotPossibleIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*flowcontrolv1.PriorityLevelConfiguration){
		"exempt by another name": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			l.Spec.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{}
			l.Spec.Limited = nil
			l.Spec.Type = "Exempt"
		},
		"both": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			l.Spec.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{}
		},
		"it lends all twice": func(l *flowcontrolv1.PriorityLevelConfiguration) { l.Spec.Limited.LendablePercent = new(int32(200)) },
		"fewer than no seats": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			l.Spec.Limited.NominalConcurrencyShares = new(int32(-1))
		},
		"neither":                func(l *flowcontrolv1.PriorityLevelConfiguration) { l.Spec.Limited = nil },
		"queues without numbers": func(l *flowcontrolv1.PriorityLevelConfiguration) { l.Spec.Limited.LimitResponse.Type = "Queue" },
		"a hand of all queues": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			*l = *levelNamed("bad", &flowcontrolv1.QueuingConfiguration{Queues: 64, HandSize: 64})
		},
		"a hand of no queue": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			*l = *levelNamed("bad", &flowcontrolv1.QueuingConfiguration{Queues: 64})
		},
		"a hand of missing queue": func(l *flowcontrolv1.PriorityLevelConfiguration) {
			*l = *levelNamed("bad", &flowcontrolv1.QueuingConfiguration{Queues: 1, HandSize: 2})
		},
	} {
		level := levelNamed("bad", nil)
		spoil(level)
		c, _ := controlOf(10, &flowcontrol.Objects{Levels: []*flowcontrolv1.PriorityLevelConfiguration{level},
			Schemas: []*flowcontrolv1.FlowSchema{schemaFor("a", "bad", 1, userNamed("*"))}}, nil)
		assert.Equal(t, "catch-all", c.Classify(by("ann")).Schema.Name, name)
	}
}

func TestFlowsAreTheUsersOrTheNamespaces(t *testing.T) {
	t.Parallel()
	for method, want := range map[flowcontrolv1.FlowDistinguisherMethodType]string{"ByUser": "ann", "ByNamespace": "default", "": ""} {
		own := schemaFor("a", "a", 1, userNamed("*"))
		if method != "" {
			own.Spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: method}
		}
		c, _ := controlOf(10, &flowcontrol.Objects{Schemas: []*flowcontrolv1.FlowSchema{own},
			Levels: []*flowcontrolv1.PriorityLevelConfiguration{levelNamed("a", &flowcontrolv1.QueuingConfiguration{Queues: 4, HandSize: 2, QueueLengthLimit: 5})}}, nil)
		ticket, err := c.Classify(by("ann")).Wait(t.Context(), by("ann"), fairqueuing.Request{Work: fairqueuing.Work{Seats: 1}})
		require.NoError(t, err)
		assert.Equal(t, want, c.Details()[0].Executing[0].Distinguisher)
		ticket.Done()
	}
}

func TestK123AListCostsASeatForAHundredObjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := controlOf(10, &flowcontrol.Objects{}, map[schema.GroupResource]int{{Resource: "pods"}: 730, {Group: "apps", Resource: "deployments"}: 5000})
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx)
		synctest.Wait()
		defer cancel()
		for _, row := range []struct {
			verb, group, resource, name, query string
			seats                              int
		}{
			{"list", "", "pods", "", "", 8},
			{"list", "", "pods", "", "limit=500", 5},
			{"list", "", "pods", "", "limit=501&labelSelector=a", 6},
			{"list", "", "pods", "", "limit=0", 8},
			{"list", "", "pods", "", "limit=some", 10},
			{"list", "", "pods", "x", "fieldSelector=metadata.name%3Dx", 1},
			{"list", "apps", "deployments", "", "", 10},
			{"list", "other", "deployments", "", "", 1},
			{"get", "", "pods", "x", "", 1},
			{"watch", "", "pods", "", "", 8},
			{"watch", "", "pods", "", "resourceVersion=0", 8},
			{"watch", "", "pods", "", "resourceVersion=17", 1},
			{"watch", "", "pods", "", "resourceVersion=17&sendInitialEvents=true", 8},
			{"deletecollection", "", "pods", "", "", 1},
		} {
			a := &authorizer.Attributes{Verb: row.verb, IsResource: true, APIGroup: row.group, Resource: row.resource, Name: row.name}
			assert.Equal(t, fairqueuing.Work{Seats: row.seats}, c.WorkOf(a, httptest.NewRequest("GET", "/?"+row.query, nil)), "%v", row)
		}
		assert.Equal(t, fairqueuing.Work{Seats: 1}, c.WorkOf(&authorizer.Attributes{Verb: "list", Resource: "pods"}, httptest.NewRequest("GET", "/", nil)), "a path")
	})
}

func TestAChangeCostsWhatThoseWhoWatchItCost(t *testing.T) {
	t.Parallel()
	c, _ := controlOf(10, &flowcontrol.Objects{}, nil)
	watch := func(n int, query string, a authorizer.Attributes) (forget func()) {
		var all []func()
		for range n {
			all = append(all, c.Watch(&a, httptest.NewRequest("GET", "/?"+query, nil)))
		}
		return func() {
			for _, one := range all {
				one()
			}
		}
	}
	cost := func(verb, namespace, name, resource, subresource string) fairqueuing.Work {
		return c.WorkOf(&authorizer.Attributes{Verb: verb, IsResource: true, Namespace: namespace, Name: name, Resource: resource, Subresource: subresource}, nil)
	}
	one := fairqueuing.Work{Seats: 1}
	everything := watch(8, "", authorizer.Attributes{Resource: "pods"})
	watch(100, "fieldSelector=spec.nodeName%3Dn1", authorizer.Attributes{Resource: "pods"})
	watch(1, "fieldSelector=spec.nodeName%3D", authorizer.Attributes{Resource: "pods"})
	assert.Equal(t, one, cost("create", "default", "", "pods", ""), "nine watch")
	watch(3, "", authorizer.Attributes{Resource: "pods", Namespace: "default"})
	watch(500, "", authorizer.Attributes{Resource: "pods", Namespace: "default", Name: "x"})
	watch(99, "", authorizer.Attributes{Resource: "pods", Namespace: "other"})
	assert.Equal(t, fairqueuing.Work{Seats: 1, FinalSeats: 2, Linger: 5 * time.Millisecond}, cost("create", "default", "", "pods", ""))
	assert.Equal(t, fairqueuing.Work{Seats: 1, FinalSeats: 10, Linger: 26 * time.Millisecond}, cost("update", "default", "x", "pods", "status"), "52 seats for 5 ms")
	assert.Equal(t, one, cost("get", "default", "x", "pods", ""))
	assert.Equal(t, one, cost("create", "default", "x", "services", ""))
	everything()
	assert.Equal(t, one, cost("create", "default", "", "pods", ""), "four watch")
	watch(50, "", authorizer.Attributes{Resource: "serviceaccounts"})
	assert.Equal(t, one, cost("create", "default", "x", "serviceaccounts", "token"), "an account does not change when it gets a token")
}

func TestWhoIsRefusedOftenIsToldToWaitLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, replace := controlOf(10, &flowcontrol.Objects{}, nil)
		told := map[int64]bool{}
		for range 200 {
			for range 50 {
				told[c.Classify(by("ann")).RetryAfter()] = true
			}
			time.Sleep(time.Second)
			replace(&flowcontrol.Objects{}) // does not begin anew
		}
		assert.Equal(t, map[int64]bool{1: true, 2: true, 4: true, 8: true, 16: true, 32: true}, told)
		last := int64(32)
		for range 50 {
			now := c.Classify(by("ann")).RetryAfter()
			assert.True(t, now == last-1 || now == 1 && last == 1 || now == last && last == 32, "%d after %d", now, last)
			last = now
			time.Sleep(2 * time.Second)
		}
		assert.EqualValues(t, 1, last)
	})
}

// What a request costs before it is served, with the objects of a new server.
func BenchmarkClassify(b *testing.B) {
	objects := built.Defaults()
	c, _ := controlOf(600, &objects, nil)
	for name, a := range map[string]*authorizer.Attributes{"a master": by("root", user.Masters, user.AllAuthenticated), "somebody": by("ann", "dev", user.AllAuthenticated),
		"an account": by("system:serviceaccount:default:default", user.AllServiceAccounts, "system:serviceaccounts:default", user.AllAuthenticated)} {
		b.Run(fmt.Sprintf("%s is %s", name, c.Classify(a).Schema.Name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(a)
			}
		})
	}
}

func TestALevelBorrowsInTimeWhatItsRequestsNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lends := levelNamed("lends", nil)
		lends.Spec.Limited.LendablePercent = new(int32(100))
		c, _ := controlOf(20, &flowcontrol.Objects{Schemas: []*flowcontrolv1.FlowSchema{schemaFor("ann", "busy", 5, userNamed("ann"))},
			Levels: []*flowcontrolv1.PriorityLevelConfiguration{levelNamed("busy", &flowcontrolv1.QueuingConfiguration{Queues: 8, HandSize: 2, QueueLengthLimit: 50}), lends}}, nil)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go c.Run(ctx)
		var served atomic.Int64
		for range 20 {
			go func() {
				if _, err := c.Classify(by("ann")).Wait(ctx, by("ann"), fairqueuing.Request{Work: fairqueuing.Work{Seats: 1}}); err == nil {
					served.Add(1)
				}
			}()
		}
		synctest.Wait()
		before := served.Load()
		assert.Less(t, before, int64(20))
		time.Sleep(fairqueuing.AdjustPeriod + time.Second)
		assert.Greater(t, served.Load(), before)
		end()
		synctest.Wait()
	})
}
